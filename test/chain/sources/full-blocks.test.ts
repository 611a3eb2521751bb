import t from 'tap'
import { lyingAnswers, Refusal, type Fault, type Json } from '../../../devnet/faults/fault.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { catchUp } from './catch-up.ts'
import { startProxy } from './faulty-proxy.ts'
import { Player, startLittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

/** Anybody can fill a block with so many logs that nobody gives or holds them all: our own are read all the same. */

t.setTimeout(180_000)
const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
const player = new Player(chain, testSeed(t))
const [owner = ''] = chain.accounts

/** Emits as many empty logs as its argument says: `do { log0(0, 0) } while (--count)`. */
const RUNTIME = '6000355b60006000a06001900380600357' + '00'
const sent = await chain.send(owner, null, `0x6012600c60003960126000f3${RUNTIME}`)
await chain.mine()
const { contractAddress } = (await chain.rpc('eth_getTransactionReceipt', sent)) as {
  contractAddress: string
}
for (let block = 0; block < 3; block += 1) {
  await player.play(5)
  await chain.mine()
}
const data = `0x${(24_000).toString(16).padStart(64, '0')}`
await chain.rpc('eth_sendTransaction', { from: owner, to: contractAddress, data, gas: '0xf00000' })
await player.play(5)
await chain.mine()
const full = Number(await chain.rpc('eth_blockNumber'))
await player.play(5)
await chain.mine()
const head = full + 1

const ofWholeBlock = (answer: unknown): Fault =>
  lyingAnswers(['eth_getLogs'], (_, { params: [filter] }) => {
    const { blockHash, address } = filter as Json
    return blockHash === undefined || address !== undefined ? undefined : answer
  })
const TOO_MANY = new Refusal(-32005, 'query returned more than 10000 results')
const RECEIPTS = ['eth_getBlockReceipts', 'eth_getTransactionReceipt']
const ofReceipts = (answer: unknown): Fault => lyingAnswers(RECEIPTS, () => answer)
const REFUSED: Fault = async (...asked) =>
  (await ofWholeBlock(TOO_MANY)(...asked)) ?? (await ofReceipts(TOO_MANY)(...asked))

async function readTip(...rpcUrls: string[]): Promise<{ checks: string[]; said: string[]; events: number }> {
  const said: string[] = []
  const source = createEvmSource(chain.network({ rpcUrls }), { report: (_, line) => said.push(line) })
  t.teardown(() => source.close())
  const headers = await source.headers(full - 1, head)
  const { events, evidence } = await source.readBlocks(headers)
  await source.readBlocks(headers)
  const checks = evidence.flatMap(({ from, to, check }) => Array<string>(to - from + 1).fill(check))
  return { checks, said: said.filter((line) => line.includes('more logs')), events: events.length }
}

void t.test('the block is as full as it is meant to be', async (t) => {
  const height = `0x${full.toString(16)}`
  const logs = (await chain.rpc('eth_getLogs', { fromBlock: height, toBlock: height })) as unknown[]
  t.ok(logs.length > 24_000, `${logs.length} logs`)
})

void t.test('a full block at the tip is read by our contracts, and told once', async (t) => {
  const { checks, said, events } = await readTip(chain.url)
  t.same(checks, ['receipts', 'one', 'receipts'])
  t.equal(said.length, 1, said.join('; '))
  t.ok(events > 0)
  const index = new StepIndex()
  await catchUp(chain, index, { signal: AbortSignal.timeout(30_000) })
  await sameAsNode(t, index, chain, 'a full block')
})

void t.test('a full block that is final is read too', async (t) => {
  const source = createEvmSource(chain.network())
  t.teardown(() => source.close())
  const { events } = await source.readRange(full, full)
  const [header] = await source.headers(full, full)
  if (header === undefined) throw new Error('no header')
  const atTip = await source.readBlocks([header])
  t.ok(events.length > 0)
  t.same(events, atTip.events)
})

void t.test("a provider's own limit is met in the same way", async (t) => {
  const proxy = await startProxy(t, chain.url, REFUSED)
  const { checks, events } = await readTip(proxy.url)
  t.same(checks, ['one', 'one', 'one'])
  t.equal(events, (await readTip(chain.url)).events)
})

void t.test('an endpoint that gives the whole block is asked first', async (t) => {
  const padded = `0x${'00'.repeat(9 * 1024 * 1024)}`
  const proxy = await startProxy(t, chain.url, ofWholeBlock(padded))
  const source = createEvmSource(chain.network({ rpcUrls: [proxy.url, chain.url] }))
  t.teardown(() => source.close())
  const { evidence } = await source.readBlocks(await source.headers(head, head))
  t.same(
    evidence.map(({ check }) => check),
    ['receipts'],
  )
})
