import { ponder } from 'ponder:registry'
import { record } from 'ponder:schema'
import { setting } from '../setting.ts'

for (const [contract, { events }] of Object.entries(setting.contracts)) {
  for (const name of events) {
    // Names made at run time: Ponder's types know only those that it read from a literal.
    ponder.on(`${contract}:${name}` as never, async ({ event, context }: never) => {
      const { id, args, block, log, transaction } = event as {
        id: string
        args: { loanId: bigint }
        block: { number: bigint; timestamp: bigint }
        log: { address: `0x${string}`; logIndex: number }
        transaction: { hash: `0x${string}` }
      }
      const { db } = context as {
        db: { insert: (table: typeof record) => { values: (row: object) => Promise<unknown> } }
      }
      await db.insert(record).values({
        ...{ id, blockNumber: block.number, logIndex: log.logIndex, txHash: transaction.hash },
        ...{ event: name, contract: log.address, loanId: args.loanId, timeS: block.timestamp },
      })
    })
  }
}
