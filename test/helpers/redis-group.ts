import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { eventually } from './programs.ts'
import { ServerProcess } from './server-process.ts'

/** Redis servers that belong together, with the examples of deploy/ as their configuration. */

export interface RedisNode {
  port: number
  process: ServerProcess
}

export interface RedisGroup {
  /** A REDIS_URL. */
  url: string
  nodes: RedisNode[]
  /** Resolves once all servers are up and replicated. */
  isWhole(): Promise<void>
  stop(): Promise<void>
}

const LOCAL = 'bind 127.0.0.1\nprotected-mode no\n'

export function newBase(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'loan-activity-redis-group-'))
}

export async function startNode(
  base: string,
  configuration: (port: number) => string,
  flags: string[] = [],
): Promise<RedisNode> {
  const port = await freePort()
  const folder = join(base, `${port}`)
  await mkdir(folder)
  // Sentinels and nodes of a Cluster rewrite their files.
  const file = join(folder, 'redis.conf')
  await writeFile(file, `${configuration(port)}${LOCAL}dir ${folder}\n`)
  const process = new ServerProcess('redis-server', [file, ...flags])
  process.start()
  await eventually(`Redis answers on ${port}`, () => redisCli(port, 'ping').startsWith('PONG'))
  return { port, process }
}

export async function stopAll(nodes: readonly RedisNode[], base: string): Promise<void> {
  await Promise.all(nodes.map(({ process }) => process.kill()))
  await rm(base, { recursive: true, force: true })
}

export function nodeOn(nodes: readonly RedisNode[], port: number): RedisNode {
  const node = nodes.find((one) => one.port === port)
  if (node === undefined) throw new Error(`no Redis of this group is on port ${port}`)
  return node
}

/** How many replicas a master has that are in step; -1 of another server. */
export function replicasOf(port: number): number {
  const about = redisCli(port, 'info', 'replication')
  if (!about.includes('role:master')) return -1
  return about.match(/state=online/g)?.length ?? 0
}

/** Resolves once the replicas have what this master acknowledged so far: it acknowledges before they do. */
export async function inStep(port: number): Promise<void> {
  const about = (): string => redisCli(port, 'info', 'replication')
  const written = Number(/master_repl_offset:(\d+)/.exec(about())?.[1])
  await eventually(`the replicas of ${port} have all it wrote`, () => {
    const read = [...about().matchAll(/state=online,offset=(\d+)/g)].map(([, offset]) => Number(offset))
    return read.length > 0 && read.every((offset) => offset >= written)
  })
}

/** Returns an empty text if nothing answers. */
export function redisCli(port: number, ...words: string[]): string {
  try {
    const [command, options] = ['redis-cli', { encoding: 'utf8', stdio: 'pipe', timeout: 2_000 } as const]
    return execFileSync(command, ['-p', `${port}`, ...words], options)
  } catch {
    return ''
  }
}
