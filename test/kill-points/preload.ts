import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import { pointId, type KillOrder, type PointCount } from './kill-order.ts'

/**
 * Loaded into the real indexer before its own code, which does not know of it. It counts each statement to Postgres and
 * each command to Redis by point. Its order makes it kill the process (SIGKILL) at one of them. `before`: the statement
 * was never sent. `after`: the server executed it, and no response was seen here.
 */

const order = JSON.parse(process.env['KILL_ORDER'] ?? '{"do":"nothing","leaseMs":null}') as KillOrder
/** The context of a statement: a queue and its job. */
const work = new AsyncLocalStorage<string>()
const counts = new Map<string, PointCount>()

type Call = (...args: unknown[]) => unknown

/** Wraps a method of all objects of a class with `around`. */
function wrap(
  holder: object,
  method: string,
  around: (original: Call, self: object, args: unknown[]) => unknown,
): void {
  const original = Reflect.get(holder, method) as Call
  Reflect.set(holder, method, function (this: object, ...args: unknown[]): unknown {
    return around((...given) => original.apply(this, given), this, args)
  })
}

function die(): void {
  process.kill(process.pid, 'SIGKILL')
}

/**
 * Counts a statement that is about to be sent. Kills here when the order is before; returns whether to kill afterwards.
 */
function passes(what: string): boolean {
  const context = work.getStore() ?? askedBy()
  const id = pointId(context, what)
  const counted = counts.get(id) ?? { id, context, what, count: 0 }
  counted.count += 1
  counts.set(id, counted)
  if (order.do !== 'kill' || order.point !== id || counted.count > 1) return false
  writeFileSync(order.report, `${context} | ${what}`)
  if (order.moment === 'before') die()
  return true
}

/** Returns the indexer's outermost functions on the stack: the context where there is no job. */
function askedBy(): string {
  const holder = { stack: '' }
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 100
  Error.captureStackTrace(holder, askedBy)
  // V8 formats the stack on first access, with the limit of that moment.
  const { stack } = holder
  Error.stackTraceLimit = stackTraceLimit
  const frames = [...stack.matchAll(/at (?:async )?(?:(\S+) \()?\S*\/indexer\/([^:\s]+)\.[jt]s:/g)]
    .map(([, name, file = '']) => `${file.split('/').at(-1) ?? ''}.${name ?? 'anonymous'}`)
    .filter((frame) => !/^main\.|\.every$|runOne$|\.anonymous$/.test(frame))
  return frames.slice(-2).reverse().join(' > ') || 'elsewhere'
}

function normalized(text: string): string {
  return text
    .replaceAll(/--[^\n]*/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/(\(\$\d+(?:, ?\$\d+)*\))(?:, ?\(\$\d+(?:, ?\$\d+)*\))*/g, '(…)')
    .replaceAll(/\bin \(\$\d+(?:, ?\$\d+)*\)/g, 'in (…)')
}

wrap(pg.Client.prototype, 'query', (original, _self, args) => {
  const [query] = args
  const text = typeof query === 'string' ? query : (query as { text?: unknown } | null)?.text
  if (typeof text !== 'string' || !passes(normalized(text))) return original(...args)
  const callback = args.at(-1)
  if (typeof callback === 'function') return original(...args.slice(0, -1), die)
  if (typeof query === 'object' && query !== null && 'callback' in query) {
    // pg-copy-streams calls it when the copy has ended.
    query.callback = die
    return original(...args)
  }
  const answer = original(...args) as Promise<unknown>
  answer.then(die, die)
  return answer
})

/** BullMQ's scripts, by the hash that Redis uses for them. */
const scripts = new Map<string, string>()
wrap(Redis.prototype, 'defineCommand', (original, _self, args) => {
  const [name, { lua }] = args as [string, { lua: string }]
  scripts.set(createHash('sha1').update(lua).digest('hex'), name.replace(/:.*/, ''))
  return original(...args)
})

interface RedisCommand {
  name: string
  args: unknown[]
  promise: Promise<unknown>
}

/** A command that waits for its connection arrives twice. */
const seen = new WeakSet<RedisCommand>()
wrap(Redis.prototype, 'sendCommand', (original, _self, args) => {
  const command = args[0] as RedisCommand
  if (seen.has(command)) return original(...args)
  seen.add(command)
  const script = /^eval/.test(command.name) ? scripts.get(shaOf(command)) : undefined
  if (passes(`redis ${command.name}${script === undefined ? '' : ` ${script}`}`))
    command.promise.then(die, die)
  return original(...args)
})

function shaOf({ name, args }: RedisCommand): string {
  const first = String(args[0])
  return name === 'evalsha' ? first : createHash('sha1').update(first).digest('hex')
}

wrap(Worker.prototype, 'run', (original, self, args) => {
  const { opts, name } = self as { opts: Record<string, unknown>; name: string }
  if (order.leaseMs !== null) {
    // Only shorter than in production, so that a test need not wait for half a minute.
    Object.assign(opts, { lockDuration: order.leaseMs, lockRenewTime: order.leaseMs / 2 })
    Object.assign(opts, { stalledInterval: order.leaseMs / 2 })
  }
  return work.run(`${name} worker`, () => original(...args))
})
wrap(Worker.prototype, 'processJob', (original, self, args) => {
  const [job] = args as [{ name: string }]
  return work.run(`${(self as { name: string }).name} job ${job.name}`, () => original(...args))
})
wrap(Queue.prototype, 'add', (original, self, args) => {
  const [name] = args as [string]
  return work.run(`${(self as { name: string }).name} add ${name}`, () => original(...args))
})

process.once('exit', () => {
  if (order.do === 'record') writeFileSync(order.report, JSON.stringify([...counts.values()]))
})
