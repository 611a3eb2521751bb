import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The message of test/helpers/services-main.ts to its parent once everything answers. */
export interface Services {
  /** postgres://user:password@host:port, without a database. */
  postgresUrl: string
  /** The migrated database that tests clone. */
  template: string
  /** Null when no redis-server binary is on PATH. */
  redisUrl: string | null
}

export interface RunningServices extends Services {
  stop: () => Promise<void>
}

export type ServiceName = 'postgres' | 'redis'

const MAIN = fileURLToPath(new URL('./services-main.ts', import.meta.url))

/**
 * Starts the real services in a process of its own. It stops them on request, and also when this process dies in any
 * way, because its IPC channel then closes. It has its own process group, so that Ctrl-C reaches the tests first and
 * their services last.
 */
export async function startServices(names: ServiceName[]): Promise<RunningServices> {
  const child = fork(MAIN, names, {
    execArgv: ['--import=tsx', '--no-warnings'],
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: plainEnvironment(),
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const services = await firstMessage(child)
  // A test process ends with its tests; waiting services must not keep it alive.
  child.unref()
  child.channel?.unref()
  const stop = async (): Promise<void> => {
    child.ref()
    if (child.connected) child.disconnect()
    await exited
  }
  return { ...services, stop }
}

/** tap's own loaders and settings are for test processes only. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TAP|_TAPJS|NODE_OPTIONS)/.test(name)),
  )
}

function firstMessage(child: ChildProcess): Promise<Services> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Services))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`the test services ended with code ${code ?? 'none'}`)))
  })
}
