import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { processIdentity } from '../../../devnet/evm/process-identity.ts'
import { lockDataDir } from '../../../devnet/start/data-dir-lock.ts'
import { LogFile } from '../../../devnet/start/log-file.ts'
import { recall } from '../../../devnet/start/memory.ts'
import { progressLine } from '../../../devnet/start/progress.ts'

void t.test('the lock of a data directory', (t) => {
  const folder = t.testdir()
  const file = join(folder, 'supervisor.lock')
  const lock = lockDataDir(folder)
  t.notOk(lock.takenOver)
  t.throws(() => lockDataDir(folder), { message: new RegExp(`in use by another .*process ${process.pid}`) })
  t.ok(existsSync(file), 'who was refused has not taken it away')
  lock.release()
  t.notOk(existsSync(file))

  const { pid } = spawnSync('true')
  const stale = [
    JSON.stringify({ pid, identity: 'whatever' }),
    // The number belongs to another process by now: this one.
    JSON.stringify({ pid: process.pid, identity: 'of another process' }),
    'half a lo',
    '',
  ]
  for (const content of stale) {
    writeFileSync(file, content)
    const taken = lockDataDir(folder)
    t.ok(taken.takenOver, `taken over: ${content}`)
    t.same(JSON.parse(readFileSync(file, 'utf8')), {
      pid: process.pid,
      identity: processIdentity(process.pid),
    })
    taken.release()
  }
  t.end()
})

void t.test('ports and password stay, unless somebody else has a port by now', async (t) => {
  const folder = t.testdir()
  const first = await recall(folder, [])
  t.same(await recall(folder, []), first)
  t.equal(statSync(join(folder, 'start.json')).mode & 0o777, 0o600, 'a password is in it')
  t.not(first.postgresPort, first.devnetPort)
  const outgoing = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split('\t')[0])
  t.ok(first.postgresPort < outgoing, 'no outgoing connection takes the port while Postgres is away')

  const other = createServer()
  await new Promise<void>((resolve) => other.listen(first.postgresPort, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const second = await recall(folder, [first.devnetPort])
  t.not(second.postgresPort, (other.address() as AddressInfo).port)
  t.not(second.devnetPort, first.devnetPort, 'what the API takes is not given to a node')
  t.equal(second.postgresPassword, first.postgresPassword)
})

void t.test('a log is bounded: it and the one before', (t) => {
  const path = join(t.testdir(), 'some.log')
  const line = 'x'.repeat(1023)
  const log = new LogFile(path)
  for (let written = 0; written < 20 * 1024; written += 1) log.write(line)
  log.write('the last line')
  const size = statSync(path).size + statSync(`${path}.1`).size
  t.ok(size < 17 * 1024 * 1024, `${size} bytes of 20 MiB`)
  t.match(readFileSync(path, 'utf8'), /the last line\n$/)
  new LogFile(path).write('of the next start')
  t.match(readFileSync(path, 'utf8'), /the last line\nof the next start\n$/)
  t.end()
})

void t.test('the progress line shows records and lags at every width', (t) => {
  const evm = {
    network: 'evm:31337',
    state: 'following',
    problem: null,
    head: 1236,
    indexed: 1234,
    lagBlocks: 2,
  }
  const filecoin = { ...evm, network: 'filecoin:testnet', head: 951, indexed: 951, lagBlocks: 0 }
  const status = { records: 12_345, networks: [evm, filecoin] }
  t.equal(
    progressLine(status, 1.25),
    '12345 records · 1.3/s · evm:31337 head 1236, indexed 1234, lag 2 · filecoin:testnet head 951, indexed 951, lag 0',
  )
  t.equal(
    progressLine(status, 1.25, 79),
    '12345 records · 1.3/s · evm:31337 1234, lag 2 · filecoin:testnet 951, lag 0',
  )
  const away = {
    ...evm,
    state: 'retrying',
    problem: 'endpoint 1 does not answer: '.repeat(3),
    lagBlocks: null,
  }
  t.equal(
    progressLine({ records: 0, networks: [away, filecoin] }, 0, 79),
    '0 records · 0.0/s · evm:31337 lag - (retrying) · filecoin:testnet lag 0',
  )
  const many = Array.from({ length: 12 }, (_, index) => ({
    ...evm,
    network: `evm:${index}`,
    lagBlocks: index,
  }))
  t.equal(
    progressLine({ records: 1, networks: [...many, away] }, 0, 79),
    '1 records · 0.0/s · 13 networks, 1 in trouble, largest lag 11',
  )
  for (let width = 1; width < 130; width += 1)
    t.ok(
      progressLine({ ...status, networks: [away, ...many] }, 9.99, width).length <= width,
      `${width} columns`,
    )
  t.end()
})
