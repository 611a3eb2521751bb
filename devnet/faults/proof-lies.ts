import {
  isJson,
  lyingAnswers,
  sometimes,
  type Chance,
  type FaultKinds,
  type Json,
  type MakeFault,
} from './fault.ts'

/** Lies that keep a block's true hash. Only the roots and fields that this hash commits to show them. */

type ChangeReceipt = (receipt: Json, below: Chance['below']) => Json

/** Changes one of the receipts that a node gives. */
function changedReceipts(change: ChangeReceipt): MakeFault {
  const methods = ['eth_getBlockReceipts', 'eth_getTransactionReceipt']
  return ({ now, below }) => {
    const one = (receipts: Json[]): Json[] => {
      const at = below(receipts.length)
      return receipts.map((receipt, index) => (index === at ? change(receipt, below) : receipt))
    }
    const fault = lyingAnswers(methods, (result) => {
      if (!isJson(result) && !Array.isArray(result)) return undefined
      const changed = Array.isArray(result) ? one(result as Json[]) : change(result, below)
      return JSON.stringify(changed) === JSON.stringify(result) ? undefined : changed
    })
    return sometimes(0.3, fault)({ now, below })
  }
}

const logsOf = (receipt: Json): Json[] => (Array.isArray(receipt['logs']) ? (receipt['logs'] as Json[]) : [])

/** Changes the last digit of hex text. */
function changedHex(value: unknown): string {
  const text = typeof value === 'string' && value.length > 2 ? value : '0x00'
  return text.slice(0, -1) + (text.endsWith('1') ? '2' : '1')
}

const HASHED_FIELDS = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom'],
  ...['gasLimit', 'gasUsed', 'timestamp', 'mixHash', 'nonce', 'baseFeePerGas'],
]

export const proofLies: FaultKinds = {
  'a log changed in a receipt': {
    seenBy: 'visible',
    make: changedReceipts((receipt, below) => {
      const logs = logsOf(receipt)
      const at = below(logs.length)
      const changed = logs.map((log, index) =>
        index === at ? { ...log, data: changedHex(log['data']) } : log,
      )
      return { ...receipt, logs: changed }
    }),
  },
  'a log left out of a receipt': {
    seenBy: 'visible',
    make: changedReceipts((receipt, below) => {
      const gone = below(logsOf(receipt).length)
      return { ...receipt, logs: logsOf(receipt).filter((_, index) => index !== gone) }
    }),
  },
  'a receipt told as reverted': {
    seenBy: 'visible',
    make: changedReceipts((receipt) => ({ ...receipt, status: '0x0', logs: [] })),
  },
  'a field of a header changed': {
    seenBy: 'visible',
    make: ({ now, below }) =>
      lyingAnswers(['eth_getBlockByNumber', 'eth_getBlockByHash'], (result) => {
        const field = HASHED_FIELDS[below(HASHED_FIELDS.length)] ?? 'stateRoot'
        return isJson(result) && now(0.03) ? { ...result, [field]: changedHex(result[field]) } : undefined
      }),
  },
  'a transaction of a block changed': {
    seenBy: 'visible',
    make: ({ now, below }) =>
      lyingAnswers(['eth_getBlockByHash'], (result, { params: [, isWhole] }) => {
        if (isWhole !== true || !isJson(result) || !now(0.2)) return undefined
        const transactions = result['transactions'] as Json[]
        const at = below(transactions.length)
        const changed = transactions.map((transaction, index) =>
          index === at ? { ...transaction, value: changedHex(transaction['value']) } : transaction,
        )
        return { ...result, transactions: changed }
      }),
  },
}
