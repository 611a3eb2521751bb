import t from 'tap'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import { Player, startLittleChain } from './little-chain.ts'

void t.test('each contract is recorded from its own startBlock on', async (t) => {
  const chain = await startLittleChain(t)
  const player = new Player(chain, 41)
  for (let block = 0; block < 30; block += 1) {
    await player.play(4)
    await chain.mine()
  }
  const head = Number(await chain.rpc('eth_blockNumber'))
  const middle = head - 15
  const from = { loans: head - 25, lock: middle }
  const source = (startBlocks: typeof from): ReturnType<typeof createEvmSource> =>
    createEvmSource(
      chain.network({
        erc20Loans: { address: chain.loans, startBlock: startBlocks.loans, idPrefix: null },
        erc20CollateralLock: { address: chain.lock, startBlock: startBlocks.lock, idPrefix: null },
      }),
    )
  const all = source({ loans: 0, lock: 0 })
  const own = source(from)
  t.teardown(() => Promise.all([all.close(), own.close()]))
  t.equal(own.startBlock, from.loans, 'blocks are read from the lowest on')
  const inRange = await all.readRange(own.startBlock, head)
  const isOwn = (event: ChainEvent): boolean =>
    'role' in event && (event.role === 'erc20Loans' || event.blockNumber >= from.lock)
  const wanted = inRange.events.filter(isOwn)
  t.ok(wanted.length < inRange.events.length && wanted.length > 20)
  t.ok(
    wanted.some((event) => event.blockNumber === middle),
    'from that block on, itself included',
  )
  t.strictSame((await own.readRange(own.startBlock, head)).events, wanted, 'by height')
  const headers = await own.headers(own.startBlock, head)
  t.strictSame((await own.readBlocks(headers)).events, wanted, 'by hash')
})
