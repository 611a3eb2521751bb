import { ponder } from 'ponder:registry'
import { loan, record } from 'ponder:schema'
import { parseAbi } from 'viem'
import { setting } from '../setting.ts'
import { changeOf, newLoan, type FetchedLoan, type Reads } from './loan-change.ts'

interface Read {
  abi: readonly unknown[]
  address: `0x${string}`
  functionName: string
  args?: readonly unknown[]
  cache?: 'immutable'
}

interface Rows {
  insert: (table: unknown) => { values: (row: object) => Promise<unknown> }
  update: (table: unknown, key: object) => { set: (row: object) => Promise<unknown> }
}

const DECIMALS = parseAbi(['function decimals() view returns (uint8)'])
/** Keyed by token: decimals do not change, and a look-up in Ponder's own cache for each loan would cost it time. */
const decimalsOf = new Map<string, Promise<number>>()

for (const [contract, { abi, events }] of Object.entries(setting.contracts)) {
  const contractAbi = parseAbi(abi)
  for (const name of events) {
    // The names are computed, and Ponder's types accept only names from a literal.
    ponder.on(`${contract}:${name}` as never, async ({ event, context }: never) => {
      const { id, args, block, log, transaction } = event as {
        id: string
        args: Parameters<typeof changeOf>[1]
        block: { number: bigint; timestamp: bigint }
        log: { address: `0x${string}`; logIndex: number }
        transaction: { hash: `0x${string}` }
      }
      const { db, client } = context as {
        db: Rows
        client: { readContract: <T>(read: Read) => Promise<T> }
      }
      await db.insert(record).values({
        ...{ id, blockNumber: block.number, logIndex: log.logIndex, txHash: transaction.hash },
        ...{ event: name, contract: log.address, loanId: args.loanId, timeS: block.timestamp },
      })
      if (setting.keeps !== 'loans') return
      const reads: Reads = {
        fetchLoan: () =>
          client.readContract<FetchedLoan>({
            ...{ abi: contractAbi, address: log.address, functionName: 'fetchLoan', args: [args.loanId] },
          }),
        decimals: (token) => {
          const known = decimalsOf.get(token)
          if (known !== undefined) return known
          const asked = client.readContract<number>({
            ...{ abi: DECIMALS, address: token, functionName: 'decimals', cache: 'immutable' },
          })
          decimalsOf.set(token, asked)
          return asked
        },
      }
      const key = { id: `${contract}/${args.loanId}` }
      const made = await newLoan(name, args, reads)
      if (made !== undefined) await db.insert(loan).values({ ...key, ...made })
      const changed = await changeOf(name, args, reads)
      if (changed !== undefined) await db.update(loan, key).set(changed)
    })
  }
}
