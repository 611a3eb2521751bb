import { setTimeout as delay } from 'node:timers/promises'
import * as z from 'zod'
import { createRpc, hex } from '../../devnet/evm/rpc.ts'
import { createLotusRpc, tipsetSchema } from '../../devnet/loans/lotus-rpc.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { IndexerProcess } from './indexer-process.ts'

/** Waits until both networks are at their nodes' heads: a tipset counts once its child has its receipts. */
export async function untilBothSynced(
  db: Db,
  { evmUrl, lotusUrl }: { evmUrl: string; lotusUrl: string },
  indexer: IndexerProcess,
  withinMs = 180_000,
): Promise<void> {
  const until = performance.now() + withinMs
  const evm = createRpc(evmUrl)
  const lotus = createLotusRpc(lotusUrl)
  for (;;) {
    const block = await evm.call(z.object({ hash: hex }), 'eth_getBlockByNumber', 'latest', false)
    const head = await lotus.call(tipsetSchema, 'ChainHead')
    const wanted: Record<string, string> = {
      'evm:31337': block.hash,
      'filecoin:testnet': head.Blocks[0]?.Parents.join() ?? '',
    }
    const positions = await db.selectFrom('ledger.chain_position').select(['network', 'hash']).execute()
    const isThere = (network: string): boolean =>
      positions.some((position) => position.network === network && position.hash === wanted[network])
    if (Object.keys(wanted).every(isThere)) return
    if (performance.now() > until)
      throw new Error(`not synced: ${JSON.stringify(positions)} ${JSON.stringify(wanted)}\n${indexer.output}`)
    await delay(50)
  }
}
