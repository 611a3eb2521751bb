import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { BlockHeader } from '../../../shared/events/chain-step.ts'
import type { ChainSource } from '../../../indexer/sources/chain-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'

const HEAD: BlockHeader = { number: 0, hash: '0x01', parentHash: '0x00', timeS: 1 }
const never = new Promise<never>(() => undefined)

/** One block and nothing after it; `head` is asked once more each 10 ms. */
function quietChain(head: () => Promise<BlockHeader>): ChainSource {
  const nothing = { events: [], evidence: [] }
  return {
    network: 'evm:1',
    startBlock: 0,
    maxBlockRange: 1,
    check: () => Promise.resolve(),
    head,
    finalized: () => Promise.resolve(null),
    believeFinal: () => undefined,
    finalHeader: () => Promise.resolve(HEAD),
    headers: () => Promise.resolve([HEAD]),
    readRange: () => never,
    readBlocks: () => Promise.resolve(nothing),
    headTicks: async function* (signal) {
      for (; !signal.aborted; yield) await sleep(10)
    },
    close: () => Promise.resolve(),
  }
}

void t.test(
  'a node that says nothing for long is a problem before its requests have timed out',
  async (t) => {
    const stop = new AbortController()
    const said: string[] = []
    let looks = 0
    const source = quietChain(() => {
      looks += 1
      return looks < 5 ? Promise.resolve(HEAD) : never
    })
    setTimeout(() => stop.abort(), 400)
    const steps = followChain(
      source,
      { position: null, headers: [], finalized: null },
      {
        signal: stop.signal,
        lookWithinMs: 100,
        onHead: () => said.push('head'),
        onLate: (p) => said.push(p),
      },
    )
    for await (const step of steps) t.equal(step.type, 'blocks')
    t.same(said.slice(0, 4), ['head', 'head', 'head', 'head'])
    t.same(said.slice(4), ['evm:1: no node has told its head for 0.1 s'])
  },
)
