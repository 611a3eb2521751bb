import t from 'tap'
import { createEvmSource, type EvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import { catchUp } from './catch-up.ts'
import { startProxy, type Fault, type Proxy } from './faulty-proxy.ts'
import { startLittleChain, type LittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

/** Nodes that know the `finalized` tag, but have no such block. */

t.setTimeout(120_000)

const DEPTH = 256

/** What is said of the finalized block; null: the node's own answer. */
type Said = { result: unknown } | { error: { code: number; message: string } }

function saying(said: Said): Fault {
  return async (requests, truth, isBatch) => {
    const answers = (await truth()).map((answer) => {
      const asked = requests.find(({ id }) => id === answer.id)
      return asked?.params[0] === 'finalized' ? { jsonrpc: '2.0', id: answer.id, ...said } : answer
    })
    return { body: JSON.stringify(isBatch ? answers : answers[0]) }
  }
}

const NONE: Fault = saying({ result: null })

async function headOf(chain: LittleChain): Promise<number> {
  return Number(await chain.rpc('eth_blockNumber'))
}

function open(t: Tap, chain: LittleChain, proxies: readonly Proxy[], warnings: string[] = []): EvmSource {
  const rpcUrls = proxies.map(({ url }) => url)
  const source = createEvmSource(chain.network({ rpcUrls }), { report: (_, text) => warnings.push(text) })
  t.teardown(() => source.close())
  return source
}
type Tap = Parameters<typeof startProxy>[0]

const block = async (chain: LittleChain, number: number): Promise<BlockRef> => {
  const { hash } = (await chain.rpc('eth_getBlockByNumber', `0x${number.toString(16)}`, false)) as BlockRef
  return { number, hash }
}

void t.test('blocks far behind the head are final where a node never tells a final one', async (t) => {
  const chain = await startLittleChain(t)
  await chain.mine(600)
  const first = await chain.rpc('eth_getBlockByNumber', '0x0', false)
  const answers: Record<string, Said> = {
    null: { result: null },
    'an error of Geth': { error: { code: -32000, message: 'finalized block not found' } },
    'an error of Besu': { error: { code: -39001, message: 'Unknown block' } },
    'the first block': { result: first },
  }
  for (const [name, said] of Object.entries(answers)) {
    const index = new StepIndex()
    const { url } = await startProxy(t, chain.url, saying(said))
    const warnings: string[] = []
    await catchUp(chain, index, {
      network: chain.network({ rpcUrls: [url] }),
      report: (_, text) => warnings.push(text),
    })
    const head = await headOf(chain)
    t.ok((index.finalized?.number ?? 0) >= head - DEPTH, `${name}: finality is told`)
    t.ok(index.headers.length <= DEPTH, `${name}: ${index.headers.length} headers are remembered`)
    t.match(warnings.join(), /tells no finalized block: blocks 256 behind the head count as final/)
    await sameAsNode(t, index, chain, name)
  }
})

void t.test('finality goes on as it began, and a block that a node tells takes over', async (t) => {
  const chain = await startLittleChain(t)
  await chain.mine(400)
  const proxy = await startProxy(t, chain.url, NONE)
  const source = open(t, chain, [proxy])
  const final = await source.finalized()
  t.same(final, await block(chain, (await headOf(chain)) - DEPTH))
  if (final === null) return
  source.believeFinal(final)
  await chain.mine(10)
  t.equal((await source.finalized())?.number, final.number + 10)
  proxy.fault = () => null
  const told = (await headOf(chain)) - 64
  t.equal((await source.finalized())?.number, told, 'the node’s own')
  source.believeFinal(await block(chain, told))
  proxy.fault = NONE
  await chain.mine(300)
  t.equal((await source.finalized())?.number, told, 'what a node told is not gone beyond without it')
})

void t.test('what is final from before a restart is gone beyond only where it is far behind', async (t) => {
  const chain = await startLittleChain(t)
  await chain.mine(1_300)
  const head = await headOf(chain)
  const near = await block(chain, head - 1_023)
  const far = await block(chain, head - 1_024)
  const proxy = await startProxy(t, chain.url, NONE)
  for (const [known, expected] of [
    [near, near.number],
    [far, head - DEPTH],
    [await block(chain, head - 64), head - 64],
  ] as const) {
    const source = open(t, chain, [proxy])
    source.believeFinal(known)
    t.equal((await source.finalized())?.number, expected)
  }
})

void t.test('a young chain has no final block until it is long enough', async (t) => {
  const chain = await startLittleChain(t)
  const proxy = await startProxy(t, chain.url, NONE)
  const warnings: string[] = []
  const source = open(t, chain, [proxy], warnings)
  t.equal(await source.finalized(), null)
  t.same(warnings, [])
  await chain.mine(DEPTH - (await headOf(chain)) + 2)
  t.equal((await source.finalized())?.number, 2)
})

void t.test('another endpoint that tells a final block is asked first', async (t) => {
  const chain = await startLittleChain(t)
  await chain.mine(400)
  const proxies = [await startProxy(t, chain.url, NONE), await startProxy(t, chain.url)]
  const source = open(t, chain, proxies)
  const told = (await headOf(chain)) - 64
  t.equal((await source.finalized())?.number, told)
})
