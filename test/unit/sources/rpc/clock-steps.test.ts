import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { RateGovernor } from '../../../../indexer/sources/rpc/rate-governor.ts'
import { RpcClient } from '../../../../indexer/sources/rpc/rpc-client.ts'

/** The wall clock steps back by a day, as it may: nobody waits until it has caught up. */

const DAY_MS = 86_400_000
const systemClock = Date.now
const stepBack = (): void => void (Date.now = () => systemClock() - DAY_MS)
t.afterEach(() => void (Date.now = systemClock))

void t.test('an endpoint that asked for a pause is asked again after it', { timeout: 10_000 }, async (t) => {
  const governor = new RateGovernor({ maxConcurrent: 2, maxBatch: 10 })
  governor.slowDown(200)
  stepBack()
  t.equal(await governor.acquire(AbortSignal.timeout(5_000)), true)
  governor.release()
  stepBack()
  t.equal(
    await governor.acquire(AbortSignal.timeout(5_000)),
    true,
    'nor does the gap between two requests grow',
  )
})

void t.test('an endpoint that was put aside comes back', { timeout: 10_000 }, async (t) => {
  let isWell = false
  const server = createServer((request, response) => {
    request.resume()
    response.end(isWell ? JSON.stringify({ id: 2, result: 'well' }) : 'not JSON')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = new RpcClient([`http://127.0.0.1:${port}`], {
    ...{ network: 'test', timeoutMs: 1_000, maxBatch: 1, maxConcurrent: 1, classify: () => 'other' },
    ...{ identity: { what: 'chain', expected: '1' }, verify: () => Promise.resolve() },
    report: () => undefined,
  })
  t.teardown(() => client.close())
  const ask = (): Promise<unknown> => client.read('head', (one) => one.call('head', []), { attempts: 1 })
  await t.rejects(ask(), /JSON/)
  t.equal(client.available().length, 0, 'it is put aside')
  isWell = true
  stepBack()
  t.equal(await ask(), 'well')
})
