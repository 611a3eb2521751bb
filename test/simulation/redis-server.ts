import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../helpers/free-port.ts'
import { untilListens } from './until-listens.ts'

/** A Redis that keeps nothing on disk: after a kill it comes back empty. */
export interface RedisServer {
  url: string
  kill(): Promise<void>
  start(): Promise<void>
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

export async function startRedis(): Promise<RedisServer> {
  const port = await freePort()
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    child = spawn(
      'redis-server',
      [
        ...['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
        ...['--maxmemory-policy', 'noeviction', '--dir', '/tmp'],
      ],
      { stdio: 'ignore' },
    )
    await untilListens(port, () => true)
  }

  async function kill(): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  // An interrupted simulation must leave nothing behind.
  process.once('exit', () => child?.kill('SIGKILL'))
  await start()
  return {
    ...{ url: `redis://127.0.0.1:${port}`, start, kill, stop: kill },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
  }
}
