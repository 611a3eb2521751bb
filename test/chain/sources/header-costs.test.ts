import t from 'tap'
import type { RangeCheck } from '../../../shared/events/chain-step.ts'
import { refusal, type Fault } from '../../../devnet/faults/fault.ts'
import { startFaultProxy } from '../../../devnet/faults/fault-proxy.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { catchUp } from './catch-up.ts'
import { startLittleChain, type LittleChain } from './little-chain.ts'
import { StepIndex } from './step-index.ts'

/** With one endpoint final blocks are checked against their blooms wherever headers cost little, or are few. */

const BLOCKS = 400

async function checksOf(chain: LittleChain, fault: Fault = () => null): Promise<Map<RangeCheck, number>> {
  const proxy = await startFaultProxy(chain.url, { fault })
  t.teardown(() => proxy.stop())
  const index = new StepIndex()
  await catchUp(chain, index, { network: chain.network({ rpcUrls: [proxy.url] }) })
  const blocks = new Map<RangeCheck, number>()
  for (const { check, from, to } of index.evidence)
    blocks.set(check, (blocks.get(check) ?? 0) + to - from + 1)
  return blocks
}

void t.test('a process that has much else to do does not take headers for dear', async (t) => {
  const chain = await startLittleChain(t)
  await chain.mine(BLOCKS)
  const busy = setInterval(() => {
    const until = performance.now() + 200
    while (performance.now() < until);
  }, 1)
  t.teardown(() => clearInterval(busy))
  t.equal((await checksOf(chain)).get('one'), undefined, 'every block is checked')
})

const oneByOne: Fault = (requests, _, isBatch) =>
  isBatch && requests.length > 1 ? { status: 400, body: refusal(null, -32600, 'no batches') } : null

const dearHeaders: Fault = (requests) => {
  const headers = requests.filter(({ method }) => method === 'eth_getBlockByNumber').length
  return headers > 2 ? { afterMs: 20 * headers } : null
}

void t.test('where headers are dear, most blocks go unchecked, and say so', async (t) => {
  const chain = await startLittleChain(t)
  await chain.mine(3 * BLOCKS)
  const checks = await checksOf(chain, dearHeaders)
  t.ok((checks.get('one') ?? 0) > BLOCKS, `${checks.get('one') ?? 0} blocks`)
})

void t.test('blocks that are final since lately are checked, whatever their headers cost', async (t) => {
  const chain = await startLittleChain(t)
  await chain.mine(BLOCKS / 2)
  t.equal((await checksOf(chain, dearHeaders)).get('one'), undefined, 'where headers are dear')
  t.equal((await checksOf(chain, oneByOne)).get('one'), undefined, 'where each is a request of its own')
})

void t.test('nothing is recent before it is known what is final', async (t) => {
  const chain = await startLittleChain(t)
  await chain.mine(BLOCKS)
  const proxy = await startFaultProxy(chain.url, { fault: oneByOne })
  t.teardown(() => proxy.stop())
  const source = createEvmSource(chain.network({ rpcUrls: [proxy.url] }))
  t.teardown(() => source.close())
  const checkOf = async (number: number): Promise<RangeCheck | undefined> =>
    (await source.readRange(number, number + 1)).evidence[0]?.check
  // The endpoint shows that it takes no batches.
  await source.headers(1, 30)
  t.equal(await checkOf(1), 'one')
  const final = (await source.finalized())?.number ?? 0
  t.equal(await checkOf(1), 'one', 'deep')
  t.equal(await checkOf(final - 256), 'one', 'just too deep')
  t.equal(await checkOf(final - 255), 'bloom')
  t.equal(await checkOf(final - 1), 'bloom')
})
