import t from 'tap'
import { createChannel } from '../../../devnet/filecoin/channel-actions.ts'
import type { Lotus } from '../../../devnet/filecoin/lotus.ts'
import type { Fault } from '../../../devnet/faults/fault.ts'
import { madeUpChildren } from '../../../devnet/faults/made-up-child.ts'
import { createFilecoinSource } from '../../../indexer/sources/filecoin/filecoin-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { startProxy } from '../sources/faulty-proxy.ts'
import { StepIndex } from '../sources/step-index.ts'
import { catchUp, newestHeight, networkOf, sameAsChain } from './catch-up.ts'
import { keyAt } from './chain-truth.ts'
import { startBusyChain } from './traffic.ts'

const seed = String(testSeed(t))
t.setTimeout(200_000)

const busy = { epochs: 50, messages: 4, nullRoundChance: 0.1, blocksPerTipset: [2, 5] } as const

/** Calls executed messages failed in these tipsets' made-up children, so that the index lacks their events. */
function callingFailed(isOfChild: (height: number) => boolean): Fault {
  return madeUpChildren((receipts, height) =>
    isOfChild(height) && receipts.some(({ ExitCode }) => ExitCode === 0)
      ? receipts.map((receipt) => ({ ...receipt, ExitCode: 16 }))
      : null,
  )
}

/** Mines a tipset with an event, and the child that executes it. */
async function mineEvent({ chain }: Lotus): Promise<void> {
  const wallet = await chain.createWallet('secp256k1', `party at ${chain.head().height}`)
  await chain.fund(wallet.address, 10n ** 21n)
  await chain.mine()
  await createChannel(wallet, wallet.key, wallet.key, 1n)
  await chain.mine()
  await chain.mine()
}

void t.test('receipts that a made-up head proves are not claimed, and are read again', async (t) => {
  const lotus = await startBusyChain(t, seed, busy)
  await mineEvent(lotus)
  const { chain } = lotus
  let isLying = true
  const lie = callingFailed((at) => at === chain.head().height)
  const liar = await startProxy(t, lotus.url, (...asked) => (isLying ? lie(...asked) : null))
  const source = createFilecoinSource(networkOf(liar))
  t.teardown(() => source.close())
  const index = new StepIndex()
  index.mayReadAgain = true
  const height = newestHeight(chain)
  const hasEvent = (): boolean => index.events.some(({ blockNumber }) => blockNumber === height)
  const problems: string[] = []
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), 60_000)
  const onHead = (): void => {
    if (index.position?.hash !== keyAt(chain, newestHeight(chain))) return
    if (!isLying) return stop.abort()
    isLying = false
    t.notOk(hasEvent(), 'nothing shows the lie yet')
    t.equal(index.kindAt(height), 'one', 'and nothing is claimed')
    void chain.mine(2)
  }
  const options = { signal: stop.signal, onHead, onProblem: (message: string) => problems.push(message) }
  for await (const step of followChain(source, index.resumePoint(), options)) index.apply(step)
  clearTimeout(timer)
  sameAsChain(t, index, lotus, 'once the true child is there')
  t.ok(hasEvent())
  t.same(index.kindsBelow(), ['receipts'])
  t.match(
    problems.join('\n'),
    /was read with results that the block after it does not show: it is read again/,
  )
})

void t.test('a made-up child within a backfill is noticed before anything is written', async (t) => {
  const lotus = await startBusyChain(t, seed, { ...busy, epochs: 120 })
  const lie = callingFailed((at) => at < lotus.chain.head().height - 40)
  const liar = await startProxy(t, lotus.url, (...asked) => (liar.faults < 20 ? lie(...asked) : null))
  const index = new StepIndex()
  await catchUp(lotus, index, { network: networkOf(liar) })
  t.ok(liar.faults > 0, `${liar.faults} lies`)
  sameAsChain(t, index, lotus, 'in spite of them')
  t.same(index.kindsBelow(), ['receipts'])
})

void t.test(
  'one at its end is noticed when the block is final, which is told, and nothing is claimed',
  async (t) => {
    const lotus = await startBusyChain(t, seed, { ...busy, nullRoundChance: 0 })
    await mineEvent(lotus)
    await lotus.chain.mine(29)
    const liar = await startProxy(
      t,
      lotus.url,
      callingFailed((at) => at < lotus.chain.head().height),
    )
    const index = new StepIndex()
    const problems: string[] = []
    await catchUp(lotus, index, { network: networkOf(liar), problems })
    t.match(problems.join('\n'), /was read with results .*: it is final and not read again/)
    const height = index.finalized?.number ?? -1
    t.notOk(
      index.events.some(({ blockNumber }) => blockNumber === height),
      'the lie is believed',
    )
    t.equal(index.kindAt(height), 'one')
    t.equal(index.kindAt(height - 1), 'receipts')
  },
)
