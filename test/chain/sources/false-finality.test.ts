import t from 'tap'
import { testSeed } from '../../helpers/test-seed.ts'
import { catchUp } from './catch-up.ts'
import { startProxy } from './faulty-proxy.ts'
import { Player, startLittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

const seed = testSeed(t)
t.setTimeout(120_000)

void t.test('one false hash of a block never becomes final', async (t) => {
  const chain = await startLittleChain(t)
  const player = new Player(chain, seed)
  for (let block = 0; block < 150; block += 1) {
    if (block % 10 === 0) await player.play(1)
    await chain.mine()
  }
  // Ranges of four blocks: some of these blocks are the last of one.
  for (let lied = 20; lied < 28; lied += 1) {
    const index = new StepIndex()
    const proxy = await startProxy(t, chain.url)
    let lies = 0
    proxy.fault = async (requests, truth, isBatch) => {
      const at = requests.findIndex(
        ({ method, params }) => method === 'eth_getBlockByNumber' && params[0] === `0x${lied.toString(16)}`,
      )
      if (at === -1 || lies > 0) return null
      lies += 1
      const answers = (await truth()).map((answer) =>
        answer.id === requests[at]?.id
          ? { ...answer, result: { ...(answer.result as object), hash: `0x${'ab'.repeat(32)}` } }
          : answer,
      )
      return { body: JSON.stringify(isBatch ? answers : answers[0]) }
    }
    const network = chain.network({ rpcUrls: [proxy.url], maxBlockRange: 4 })
    await catchUp(chain, index, { network })
    await sameAsNode(t, index, chain, `the hash of block ${lied}`)
    t.equal(lies, 1, `block ${lied} was lied about`)
  }
})

void t.test(
  'the head of a branch that the node has left is not final, though what is final is above it',
  async (t) => {
    const chain = await startLittleChain(t)
    const player = new Player(chain, seed)
    for (let block = 0; block < 20; block += 1) {
      if (block % 5 === 0) await player.play(1)
      await chain.mine()
    }
    const index = new StepIndex()
    const proxy = await startProxy(t, chain.url)
    const network = chain.network({ rpcUrls: [proxy.url] })
    await catchUp(chain, index, { network })
    const left = await chain.rpc('eth_getBlockByNumber', 'latest', false)
    await chain.rpc('anvil_reorg', 3, [])
    await chain.mine(100)
    // Between two questions another node of the same address answers.
    let told = 0
    proxy.fault = async (requests, truth, isBatch) => {
      const asked = requests.find(({ params }) => params[0] === 'latest')
      if (asked === undefined || told > 0) return null
      told += 1
      const answers = (await truth()).map((answer) =>
        answer.id === asked.id ? { ...answer, result: left } : answer,
      )
      return { body: JSON.stringify(isBatch ? answers : answers[0]) }
    }
    await catchUp(chain, index, { network, signal: AbortSignal.timeout(30_000) })
    await sameAsNode(t, index, chain, 'after the other branch')
    t.equal(told, 1)
  },
)
