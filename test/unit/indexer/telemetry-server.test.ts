import type { AddressInfo } from 'node:net'
import t from 'tap'
import { newNetworkHealth } from '../../../indexer/network-state.ts'
import { startTelemetry } from '../../../indexer/telemetry-server.ts'
import { createRegistry } from '../../../shared/metrics.ts'
import { indexerMetrics } from '../../helpers/program-metrics.ts'

void t.test('the indexer’s own port is read with GET and HEAD', async (t) => {
  const server = await startTelemetry({ host: '127.0.0.1', port: 0 }, [], createRegistry('test'))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const path of ['/healthz', '/readyz', '/metrics', '/nothing']) {
    const posted = await fetch(url + path, { method: 'POST', body: '{}' })
    t.equal(posted.status, 405, path)
    t.equal(posted.headers.get('allow'), 'GET, HEAD')
    t.match(await posted.json(), { status: 'ERROR', message: /POST/ })
    const wanted = path === '/nothing' ? 404 : 200
    for (const method of ['GET', 'HEAD']) t.equal((await fetch(url + path, { method })).status, wanted)
  }
})

void t.test('a port or an address that cannot be had is named with its variable', async (t) => {
  const server = await startTelemetry({ host: '127.0.0.1', port: 0 }, [], createRegistry('test'))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  await t.rejects(startTelemetry({ host: '127.0.0.1', port }, [], createRegistry('test')), {
    message: `INDEXER_PORT ${port} on 127.0.0.1 is in use: stop what listens there, or set INDEXER_PORT to a free port`,
  })
  await t.rejects(startTelemetry({ host: '192.0.2.1', port: 0 }, [], createRegistry('test')), {
    message: /^INDEXER_HOST 192\.0\.2\.1 is no address of this machine/,
  })
})

void t.test('metrics have a sample of each network that has the number, as it is now', async (t) => {
  const filecoin = newNetworkHealth({ network: 'filecoin:f', blockchain: 'FIL', networkId: 'f' })
  const quoted = newNetworkHealth({ network: 'evm:"1"', blockchain: 'EVM', networkId: '"1"' })
  const { registry } = indexerMetrics([filecoin, quoted])
  const server = await startTelemetry({ host: '127.0.0.1', port: 0 }, [filecoin, quoted], registry)
  t.teardown(() => server.close())
  const read = async (name: string): Promise<string[]> => {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`)
    t.match(response.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
    return (await response.text()).split('\n').filter((line) => line.includes(name))
  }
  filecoin.counts.steps = 3
  filecoin.handedIn = { accepted: 2, known: 0, waiting: 0, refused: 0, queued: 7 }
  t.same(await read('steps_total'), [
    '# HELP loan_activity_steps_total Steps written by this process.',
    '# TYPE loan_activity_steps_total counter',
    'loan_activity_steps_total{network="filecoin:f"} 3',
    'loan_activity_steps_total{network="evm:\\"1\\""} 0',
  ])
  t.same(
    (await read('voucher_jobs_waiting')).at(-1),
    'loan_activity_voucher_jobs_waiting{network="filecoin:f"} 7',
  )
  t.match((await read('process_resident_memory_bytes')).at(-1), /^process_resident_memory_bytes \d{7,}$/)
  filecoin.counts.steps = 4
  filecoin.handedIn = null
  t.equal((await read('steps_total'))[2], 'loan_activity_steps_total{network="filecoin:f"} 4')
  t.same((await read('voucher_jobs_waiting')).at(-1), '# TYPE loan_activity_voucher_jobs_waiting gauge')
})
