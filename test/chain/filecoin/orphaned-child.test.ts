import t from 'tap'
import { createFilecoinSource } from '../../../indexer/sources/filecoin/filecoin-source.ts'
import { startProxy } from '../sources/faulty-proxy.ts'
import { networkOf } from './catch-up.ts'
import { keyAt } from './chain-truth.ts'
import { startChain } from './traffic.ts'

t.setTimeout(30_000)

void t.test('a child that was seen and replaced does not hold its parent up', async (t) => {
  const lotus = await startChain(t, { seed: 'orphan' })
  const { chain } = lotus
  await chain.mine(10)
  let forgotten = ''
  // Stands for another endpoint, which never saw the orphan that this one told as its head.
  const proxy = await startProxy(t, lotus.url, (requests) =>
    forgotten !== '' && requests.some(({ params }) => JSON.stringify(params).includes(forgotten))
      ? requests.map(({ id }) => ({ id, error: { code: 1, message: `ipld: could not find ${forgotten}` } }))
      : null,
  )
  const source = createFilecoinSource(networkOf(proxy), { requestTimeoutMs: 5_000 })
  t.teardown(() => source.close())
  const head = await source.head()
  const orphan = keyAt(chain, chain.head().height).split(',')[0] ?? ''
  chain.reorg(1)
  await chain.mine(1)
  forgotten = orphan
  const read = await source.readBlocks([head])
  t.equal(read.events.length, 0)
  t.match(read.evidence, [{ from: head.number, to: head.number }])
})
