import t from 'tap'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { functionLayout } from '../../../indexer/sources/evm/contracts.ts'
import type { ChainEvent, EvmLoanEvent } from '../../../shared/events/chain-event.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { catchUp } from './catch-up.ts'
import { startProxy, type Fault, type Request } from './faulty-proxy.ts'
import { Player, startLittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

/** A node that has no old state says so in its own words; what it does not have holds nothing up. */

t.setTimeout(120_000)
const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
const player = new Player(chain, testSeed(t))
for (let block = 0; block < 24; block += 1) {
  await player.play(5)
  await chain.mine()
}
// Old enough that a full node may have let the states go.
await chain.mine(150)

const WORDS: [code: number, message: string][] = [
  [-32000, "State histories haven't been fully indexed yet"],
  [-32000, 'required historical state unavailable (reexec=128)'],
  [-32603, 'Internal error'],
  [-32601, 'the method is not available for this block'],
  [-32000, 'header not found'],
  [1, 'nope'],
]

const isOld = ({ method, params }: Request): boolean => method === 'eth_call' && params[1] !== 'latest'

const refusing =
  (code: number, message: string, isRefused = isOld): Fault =>
  async (requests, truth) => {
    if (!requests.some(isRefused)) return null
    const refused = new Set(requests.filter(isRefused).map(({ id }) => id))
    return (await truth()).map((answer) =>
      refused.has(answer.id) ? { id: answer.id, error: { code, message } } : answer,
    )
  }

const approvals = (events: readonly ChainEvent[]): Extract<EvmLoanEvent, { kind: 'ApproveRequest' }>[] =>
  events.filter((event) => event.kind === 'ApproveRequest')

async function read(rpcUrls: string[]): Promise<{ index: StepIndex; ms: number }> {
  const index = new StepIndex()
  const startMs = performance.now()
  await catchUp(chain, index, { network: chain.network({ rpcUrls, maxBlockRange: 4 }) })
  return { index, ms: performance.now() - startMs }
}

const truth = approvals((await read([chain.url])).index.events)

void t.test('an old state that is not there is "no state", whatever its words', async (t) => {
  t.ok(truth.length > 3, `${truth.length} approvals`)
  const readIn = async ([code, message]: [number, string]): Promise<void> => {
    const what = `${code} ${message}`
    const node = await startProxy(t, chain.url, refusing(code, message))
    const { index, ms } = await read([node.url])
    t.comment(`${what}: ${Math.round(ms)} ms`)
    await sameAsNode(t, index, chain, what)
    t.ok(ms < 30_000, `${what}: ${ms} ms`)
    const unknown = { loanExpiration: /^no endpoint has the state of the block/ }
    t.match(
      approvals(index.events).map(({ terms }) => terms.unknown),
      truth.map(() => unknown),
    )
    // A reindex finds this once the histories are indexed.
    node.fault = () => null
    const again = await read([node.url])
    t.same(approvals(again.index.events), truth, `${what}: nothing is lost for good`)
  }
  await Promise.all(WORDS.map(readIn))
})

void t.test('another endpoint that has the state is asked at once', async (t) => {
  const readIn = async ([code, message]: [number, string]): Promise<void> => {
    const node = await startProxy(t, chain.url, refusing(code, message))
    const { index, ms } = await read([node.url, chain.url])
    t.same(approvals(index.events), truth, `${code} ${message}`)
    t.ok(ms < 30_000, `${code} ${message}: ${ms} ms`)
  }
  await Promise.all(WORDS.map(readIn))
})

void t.test('a node that cannot tell for a moment is asked again', async (t) => {
  let left = 3
  const busy = refusing(-32000, 'execution aborted (timeout = 5s)')
  const node = await startProxy(t, chain.url, (requests, ...rest) =>
    requests.some(isOld) && left-- > 0 ? busy(requests, ...rest) : null,
  )
  const { index } = await read([node.url])
  t.same(approvals(index.events), truth)
  t.ok(left < 0)
})

void t.test('a loan that no node can tell of does not hold the others up', async (t) => {
  const [, bad] = truth
  const data =
    functionLayout('erc20Loans', 'fetchLoan').selector +
    BigInt(bad?.contractLoanId ?? 0)
      .toString(16)
      .padStart(64, '0')
  const isBad = ({ method, params }: Request): boolean =>
    method === 'eth_call' && params[1] !== 'latest' && JSON.stringify(params).includes(data)
  const node = await startProxy(t, chain.url, refusing(-32603, 'Internal error', isBad))
  const { index, ms } = await read([node.url])
  t.ok(ms < 30_000, `${ms} ms`)
  const others = (events: readonly ChainEvent[]): unknown =>
    approvals(events).filter(({ contractLoanId }) => contractLoanId !== bad?.contractLoanId)
  t.same(others(index.events), others(truth))
})

void t.test('a node that refuses the same at its head is not taken at its word', async (t) => {
  const node = await startProxy(
    t,
    chain.url,
    refusing(-32603, 'Internal error', ({ method }) => method === 'eth_call'),
  )
  const source = createEvmSource(chain.network({ rpcUrls: [node.url] }))
  t.teardown(() => source.close())
  const [first] = truth
  const { blockNumber = 0, blockHash = '' } = first ?? {}
  const asked = source.fetchLoanState('erc20Loans', '1', { number: blockNumber, hash: blockHash })
  await t.rejects(asked, { message: /Internal error/ })
})
