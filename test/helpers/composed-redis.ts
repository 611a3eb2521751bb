import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parse } from 'yaml'
import * as z from 'zod'
import { freePort } from './free-port.ts'
import { eventually } from './programs.ts'

const PASSWORDS = {
  REDIS_INDEXER_PASSWORD: 'indexer1',
  REDIS_API_PASSWORD: 'api1',
  REDIS_PRODUCER_PASSWORD: 'producer1',
}
const composeSchema = z.object({
  services: z.object({
    redis: z.object({ command: z.array(z.string()), healthcheck: z.object({ test: z.array(z.string()) }) }),
  }),
})
export const { redis: REDIS_SERVICE } = composeSchema.parse(
  parse(readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8'), { merge: true }),
).services

function filledIn(words: string[]): string[] {
  return words.map((word) =>
    word.replaceAll(/\$\{(\w+)[^}]*\}/g, (_, name: string) => PASSWORDS[name as keyof typeof PASSWORDS]),
  )
}

/** The ACL rules of each user. */
export function composedUsers(): Map<string, string[]> {
  const [, ...users] = filledIn(REDIS_SERVICE.command).join(' ').split(' --user ')
  return new Map(
    users.map((text) => {
      const [name = '', ...rules] = text.split(' ')
      return [name, rules]
    }),
  )
}

/** Starts a Redis with these arguments; returns its port once it accepts connections. */
export async function startRedis(t: Test, args: string[]): Promise<number> {
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'loan-activity-redis-users-'))
  const own = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir, '--save', '']
  const server = spawn('redis-server', [...args, ...own], { stdio: 'ignore' })
  const exited = new Promise((resolve) => server.once('exit', resolve))
  t.teardown(async () => {
    server.kill('SIGKILL')
    await exited
    rmSync(dir, { recursive: true, force: true })
  })
  await eventually('Redis accepts connections', () => {
    try {
      return Promise.resolve(execFileSync('redis-cli', ['-p', `${port}`, 'ping']).length > 0)
    } catch {
      return Promise.resolve(false)
    }
  })
  return port
}

/** Starts a Redis with the arguments, and so the users, of docker-compose.yml. */
export async function startComposedRedis(t: Test): Promise<number> {
  const [program = '', ...args] = filledIn(REDIS_SERVICE.command)
  t.equal(program, 'redis-server')
  return startRedis(t, args)
}
