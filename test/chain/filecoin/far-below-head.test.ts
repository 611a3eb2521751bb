import t, { type Test } from 'tap'
import type { Lotus } from '../../../devnet/filecoin/lotus.ts'
import { createFilecoinSource } from '../../../indexer/sources/filecoin/filecoin-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import type { BlockRef, ChainStep } from '../../../shared/events/chain-step.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { startProxy, type Answer, type Fault, type Proxy } from '../sources/faulty-proxy.ts'
import { StepIndex } from '../sources/step-index.ts'
import { catchUp, networkOf, sameAsChain } from './catch-up.ts'
import { keyAt } from './chain-truth.ts'
import { startChain } from './traffic.ts'

/** A position far below the head: its tipset is asked for by height, and nothing between it and the head is read. */

const seed = String(testSeed(t))
t.setTimeout(400_000)

const FAR = 3_000
/** For the node's facts, a look at the head, one height and the first narrow ranges; a walk takes one for each tipset. */
const MOST_CALLS = 100

/** Counts calls before the node; `change` says what it answers instead of the truth, undefined: the truth. */
async function countedNode(
  t: Test,
  lotus: Lotus,
  change: (method: string, params: unknown[], result: unknown) => unknown = () => undefined,
) {
  const count = { calls: 0 }
  const fault: Fault = async (requests, truth) => {
    count.calls += requests.length
    return (await truth()).map((answer): Answer => {
      const asked = requests.find(({ id }) => id === answer.id)
      const method = asked?.method.replace('Filecoin.', '') ?? ''
      const said = change(method, asked?.params ?? [], answer.result)
      if (said === undefined) return answer
      return said instanceof Error
        ? { id: answer.id, error: { code: 1, message: said.message } }
        : { id: answer.id, result: said }
    })
  }
  return { proxy: await startProxy(t, lotus.url, fault), count }
}

/** The first step of an index that goes on from `index`, and the problems before it. */
async function firstStep(
  t: Test,
  proxy: Proxy,
  index: StepIndex,
): Promise<{ step: ChainStep | undefined; problems: string[] }> {
  const source = createFilecoinSource(networkOf(proxy))
  t.teardown(() => source.close())
  const stop = new AbortController()
  const problems: string[] = []
  const options = { signal: stop.signal, parallelRanges: 1, onProblem: (said: string) => problems.push(said) }
  for await (const step of followChain(source, index.resumePoint(), options)) {
    stop.abort()
    return { step, problems }
  }
  return { step: undefined, problems }
}

function indexAt(position: BlockRef): StepIndex {
  const index = new StepIndex()
  index.position = position
  index.finalized = position
  return index
}

void t.test('going on from far below the head takes the same few calls, however far', async (t) => {
  const lotus = await startChain(t, { seed, nullRoundChance: 0.1 })
  await lotus.chain.mine(50)
  const position = { number: 40, hash: keyAt(lotus.chain, 40) }
  for (let distance = FAR; distance <= 2 * FAR; distance += FAR) {
    await lotus.chain.mine(position.number + distance - lotus.chain.head().height)
    for (const knowsAfter of [true, false]) {
      const { proxy, count } = await countedNode(t, lotus, (method, [height], result) => {
        if (knowsAfter) return undefined
        if (method === 'ChainGetTipSetAfterHeight') return new Error(`method '${method}' not found`)
        if (method !== 'ChainGetTipSetByHeight') return undefined
        return (result as { Height: number }).Height === height ? undefined : new Error('null round')
      })
      const { step, problems } = await firstStep(t, proxy, indexAt(position))
      const what = `${lotus.chain.head().height - position.number} epochs below the head${knowsAfter ? '' : ' of a node that refuses null rounds'}`
      t.match(step, { type: 'blocks', from: 41, after: position }, what)
      t.same(problems, [])
      t.ok(count.calls <= MOST_CALLS, `${what}: ${count.calls} calls`)
    }
  }
})

void t.test('a position that was left long ago is taken back at the cost of what replaces it', async (t) => {
  const lotus = await startChain(t, { seed, finalityEpochs: 30, nullRoundChance: 0.1 })
  await lotus.chain.mine(80)
  const index = new StepIndex()
  await catchUp(lotus, index)
  lotus.chain.reorg(7)
  await lotus.chain.mine(FAR)
  const { proxy, count } = await countedNode(t, lotus)
  const { step } = await firstStep(t, proxy, index)
  if (step?.type !== 'reorg') throw new Error(`${String(step?.type)} instead of a reorg`)
  t.ok(count.calls < FAR, `${count.calls} calls, ${step.headers.length} headers`)
  await catchUp(lotus, index)
  sameAsChain(t, index, lotus, 'after the reorg')
  t.equal(index.reorgs, 1)
})

void t.test('blocks that nobody calls final are read from far below the head without a walk', async (t) => {
  const lotus = await startChain(t, { seed, nullRoundChance: 0.1 })
  await lotus.chain.mine(FAR)
  const genesis = { number: 0, hash: keyAt(lotus.chain, 0) }
  let first: unknown
  const branches = new Set<unknown>()
  const { proxy, count } = await countedNode(t, lotus, (method, [, key], result) => {
    if (method === 'ChainGetGenesis') first = result
    if (method === 'ChainGetTipSetAfterHeight') branches.add(JSON.stringify(key))
    return method === 'ChainGetFinalizedTipSet' ? first : undefined
  })
  const { step } = await firstStep(t, proxy, indexAt(genesis))
  t.match(step, { type: 'blocks', from: 1, after: genesis })
  t.ok(count.calls <= 2 * MOST_CALLS, `${count.calls} calls`)
  const head = keyAt(lotus.chain, lotus.chain.head().height).split(',')
  t.same([...branches], [JSON.stringify(head.map((cid) => ({ '/': cid })))], 'on the branch of the head')
})

void t.test('a tipset far above the one that was asked for is not walked down from', async (t) => {
  const lotus = await startChain(t, { seed })
  await lotus.chain.mine(FAR)
  let head: unknown
  for (const lied of ['ChainGetTipSetAfterHeight', 'ChainGetTipSetByHeight']) {
    const { proxy, count } = await countedNode(t, lotus, (method, [height], result) => {
      if (method === 'ChainHead') head = result
      if (method === lied && Number(height) === 111) return head
      if (method === 'ChainGetTipSetAfterHeight') return new Error(`method '${method}' not found`)
      return undefined
    })
    const source = createFilecoinSource(networkOf(proxy))
    t.teardown(() => source.close())
    await source.head()
    await t.rejects(source.readRange(100, 110), /asked for the tipset (after 110|at 111)/, lied)
    t.ok(count.calls < MOST_CALLS, `${lied}: ${count.calls} calls`)
  }
})
