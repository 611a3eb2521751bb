import t from 'tap'
import type { Test } from 'tap'
import { BATCH_REFUSALS, batchLimit } from '../../../devnet/faults/batch-limits.ts'
import { PROVIDERS, rangeLimit, REFUSING_STATUSES } from '../../../devnet/faults/range-limits.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { catchUp } from './catch-up.ts'
import { startProxy, type Fault } from './faulty-proxy.ts'
import { Player, startLittleChain, type LittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

/** Whatever the code and the words: what is too much for a provider is asked for in smaller portions. */

const seed = testSeed(t)
t.setTimeout(180_000)

async function startLively(t: Parameters<typeof startLittleChain>[0]): Promise<LittleChain> {
  const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
  const player = new Player(chain, seed)
  for (let block = 0; block < 24; block += 1) {
    await player.play(5)
    await chain.mine()
  }
  return chain
}

/** For all cases: nobody changes it. */
const chain = await startLively(t)

interface Told {
  ms: number
  said: string[]
  /** HTTP requests that were refused, and all of them. */
  refused: number
  requests: number
}

async function readThrough(t: Test, name: string, fault: Fault): Promise<Told> {
  const proxy = await startProxy(t, chain.url, fault)
  const [index, said]: [StepIndex, string[]] = [new StepIndex(), []]
  const startMs = performance.now()
  await catchUp(chain, index, {
    network: chain.network({ rpcUrls: [proxy.url], maxBlockRange: 50 }),
    report: (_, message) => said.push(message),
  })
  const ms = Math.round(performance.now() - startMs)
  await sameAsNode(t, index, chain, name)
  t.comment(`${name}: ${ms} ms, ${proxy.faults} of ${proxy.requests} requests refused`)
  return { ms, said, refused: proxy.faults, requests: proxy.requests }
}

/** Several cases at once: most of their time is pauses. */
async function inTurns<T>(cases: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const left = [...cases]
  const work = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item)
  }
  await Promise.all(Array.from({ length: 6 }, work))
}

for (const limit of [3, 1]) {
  void t.test(`a batch of more than ${limit} that is refused is tried smaller`, async (t) => {
    const cases = Object.entries(BATCH_REFUSALS).filter((_, at) => limit > 1 || at % 3 === 0)
    await inTurns(cases, async ([name, refusal]) => {
      const { ms, said, refused } = await readThrough(t, name, batchLimit(refusal, limit))
      t.ok(ms < 20_000, `${name}: ${ms} ms`)
      t.ok(refused > 0 && refused < 25, `${name}: ${refused} refusals`)
      t.match(said.at(-1), new RegExp(`takes batches of at most [1-${limit}] calls$`), name)
      t.ok(said.length <= 2, `${name}: ${said.join('; ')}`)
      t.ok(
        said.every((message) => message.includes('takes batches')),
        `${name}: nobody is put aside`,
      )
    })
  })
}

void t.test('a range that is refused is asked for in narrower ones', async (t) => {
  const errors = Object.entries(PROVIDERS).map(([name, error]) => ({ name, status: 200, error }))
  const statuses = REFUSING_STATUSES.flatMap((status) => [
    { name: `HTTP ${status}`, status },
    { name: `HTTP ${status} with an error`, status, error: [-32005, 'Limit exceeded'] as const },
  ])
  await inTurns([...errors, ...statuses], async ({ name, ...refusal }) => {
    const { ms, said, refused } = await readThrough(t, name, rangeLimit(5, refusal))
    t.ok(ms < 20_000, `${name}: ${ms} ms`)
    t.ok(refused > 0, `${name}: ${refused} refusals`)
    t.match(said, [/takes ranges of at most 5 blocks$/], name)
    t.equal(said.length, 1, `${name}: ${said.join('; ')}`)
  })
})
