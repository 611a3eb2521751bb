import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile, chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'

export type PoolMode = 'session' | 'transaction' | 'statement'

/** Starts a real PgBouncer before a URL's server; returns the URL through it. It ends in teardown. */
export async function pgbouncer(
  t: Pick<Test, 'teardown'>,
  serverUrl: string,
  { mode, size = 20 }: { mode: PoolMode; size?: number },
): Promise<string> {
  const { hostname, port: serverPort, username, password, pathname } = new URL(serverUrl)
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-test-pgbouncer-'))
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${serverPort} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${size}
server_lifetime = 60
`,
  )
  await chmod(folder, 0o755)
  // PgBouncer refuses to run as root.
  const account = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn('pgbouncer', [...account, file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` },
  })
  let said = ''
  const up = new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      if (said.includes('process up')) resolve()
    })
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`pgbouncer ended: ${said}`)))
  })
  up.catch(() => undefined)
  t.teardown(async () => {
    const exited = once(child, 'exit')
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      child.kill('SIGKILL')
      await exited
    }
    await rm(folder, { recursive: true, force: true })
  })
  await up
  return `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`
}
