import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile, chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { deployExample } from './deploy-example.ts'
import { freePort } from './free-port.ts'

export type PoolMode = 'session' | 'transaction' | 'statement'

/** Starts a real PgBouncer by deploy/pgbouncer.ini before a URL's server; returns the URL through it. It ends in teardown. */
export async function pgbouncer(
  t: Pick<Test, 'teardown'>,
  serverUrl: string,
  { mode, size = 20 }: { mode: PoolMode; size?: number },
): Promise<string> {
  const { hostname, port: serverPort, username, password, pathname } = new URL(serverUrl)
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-test-pgbouncer-'))
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  const users = join(folder, 'userlist.txt')
  await writeFile(users, `"${username}" "${password}"\n`)
  await writeFile(
    file,
    deployExample('pgbouncer.ini', {
      'host=127.0.0.1 port=5001': `host=${hostname} port=${serverPort}`,
      'listen_port = 6432': `listen_port = ${port}`,
      '/etc/pgbouncer/userlist.txt': users,
      'pool_mode = session': `pool_mode = ${mode}`,
      'default_pool_size = 40': `default_pool_size = ${size}`,
    }),
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
