import t from 'tap'
import { lyingAnswers, Refusal } from '../../../devnet/faults/fault.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { startProxy } from './faulty-proxy.ts'
import { Player, startLittleChain } from './little-chain.ts'

const METHOD = 'eth_getTransactionByBlockHashAndIndex'

void t.test('a transaction that is not found by its position is asked for by its hash', async (t) => {
  const chain = await startLittleChain(t)
  const player = new Player(chain, 7)
  for (let block = 0; block < 12; block += 1) {
    await player.play(5)
    await chain.mine()
  }
  const head = Number(await chain.rpc('eth_blockNumber'))
  const source = createEvmSource(chain.network())
  t.teardown(() => source.close())
  const { events } = await source.readRange(0, head)
  for (const [name, answer] of [
    ['-32601', new Refusal(-32601, `the method ${METHOD} does not exist`)],
    ['-32000', new Refusal(-32000, 'not implemented')],
    ['null', null],
  ] as const) {
    const asked = { byPosition: 0, byHash: 0 }
    const lie = lyingAnswers([METHOD], () => answer)
    const proxy = await startProxy(t, chain.url, (requests, ...rest) => {
      if (requests.some(({ method }) => method === METHOD)) asked.byPosition += 1
      if (requests.some(({ method }) => method === 'eth_getTransactionByHash')) asked.byHash += 1
      return lie(requests, ...rest)
    })
    const without = createEvmSource(chain.network({ rpcUrls: [proxy.url] }))
    t.teardown(() => without.close())
    t.strictSame((await without.readRange(0, head)).events, events, name)
    t.ok(asked.byHash > 0, `${name}: asked by hash`)
    const { byPosition } = asked
    await without.readRange(0, head)
    t.comment(`${name}: ${JSON.stringify(asked)}`)
    if (name === '-32601')
      t.equal(asked.byPosition, byPosition, 'a method that is missing is not tried again')
  }
})
