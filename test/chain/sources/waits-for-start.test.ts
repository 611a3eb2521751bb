import t from 'tap'
import { RetryableError } from '../../../shared/errors.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { createFilecoinSource } from '../../../indexer/sources/filecoin/filecoin-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import type { ChainSource } from '../../../indexer/sources/chain-source.ts'
import { networkOf } from '../filecoin/catch-up.ts'
import { startChain } from '../filecoin/traffic.ts'
import { startProxy, type Fault } from './faulty-proxy.ts'
import { startLittleChain, type LittleChain } from './little-chain.ts'

/** Nodes that have not reached the first block to index are waited for, and said to be. */

t.setTimeout(60_000)

const from = (chain: LittleChain, startBlock: number, rpcUrls: string[]): ReturnType<typeof chain.network> =>
  chain.network({
    rpcUrls,
    erc20Loans: { address: chain.loans, startBlock, idPrefix: null },
    erc20CollateralLock: { address: chain.lock, startBlock, idPrefix: null },
  })

/** The problem that was told, and the first block that was read after `goOn`. */
async function follow(
  source: ChainSource,
  goOn: () => Promise<unknown>,
): Promise<{ problem: string; first: number }> {
  const stop = new AbortController()
  const problems: string[] = []
  const steps = followChain(
    source,
    { position: null, headers: [], finalized: null },
    {
      signal: AbortSignal.any([stop.signal, AbortSignal.timeout(30_000)]),
      onProblem: (message) => {
        problems.push(message)
        if (problems.length === 1) void goOn()
      },
    },
  )
  try {
    for await (const step of steps)
      if (step.type === 'blocks') return { problem: problems[0] ?? '', first: step.from }
  } finally {
    stop.abort()
  }
  return { problem: problems[0] ?? '', first: -1 }
}

void t.test('an EVM chain that is below startBlock', async (t) => {
  const chain = await startLittleChain(t)
  const head = Number(await chain.rpc('eth_blockNumber'))
  const source = createEvmSource(from(chain, head + 6, [chain.url]))
  t.teardown(() => source.close())
  const text = new RegExp(`endpoint 1 \\(.*is at block ${head}, startBlock is ${head + 6}: waiting`)
  const error: unknown = await source.check().catch((reason: unknown) => reason)
  t.type(error, RetryableError, 'no mistake in the configuration')
  t.match(String(error), text)
  const { problem, first } = await follow(source, () => chain.mine(8))
  t.match(problem, text)
  t.equal(first, head + 6)
  await source.check()
})

void t.test('one endpoint that is below startBlock does not hold up the other', async (t) => {
  const chain = await startLittleChain(t)
  const isOld: Fault = async (requests, truth, _, upstream) => {
    const old = await upstream.ask('eth_getBlockByNumber', '0x1', false)
    return (await truth()).map((answer) =>
      requests.find(({ id }) => id === answer.id)?.params[0] === 'latest'
        ? { id: answer.id, result: old }
        : answer,
    )
  }
  const head = Number(await chain.rpc('eth_blockNumber'))
  const behind = await startProxy(t, chain.url, isOld)
  const source = createEvmSource(from(chain, head, [behind.url, chain.url]))
  t.teardown(() => source.close())
  await source.check()
  for (let look = 0; look < 4; look += 1) t.equal((await source.head()).number, head)
})

void t.test('a Filecoin chain that is below startEpoch', async (t) => {
  const lotus = await startChain(t, { seed: 'start', nullRoundChance: 0 })
  await lotus.chain.mine(5)
  const { height } = lotus.chain.head()
  const source = createFilecoinSource(networkOf(lotus, { startEpoch: height + 6 }))
  t.teardown(() => source.close())
  const { problem, first } = await follow(source, () => lotus.chain.mine(10))
  t.match(problem, new RegExp(`endpoint 1 \\(.*is at block ${height} .*startEpoch is ${height + 6}: waiting`))
  t.equal(first, height + 6)
})
