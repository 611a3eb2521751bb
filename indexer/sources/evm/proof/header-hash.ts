import { BadAnswer } from '../../rpc/rpc-error.ts'
import { keccakText } from './keccak.ts'
import { rlpBytes, rlpList, rlpNumber } from './rlp.ts'

/** `number`, or the exact number of bytes; null for any number of bytes. */
type Form = 'number' | number | null

/** Fields of a header in the order that its hash commits to. */
const FIELDS: readonly (readonly [name: string, form: Form])[] = [
  ['parentHash', 32],
  ['sha3Uncles', 32],
  ['miner', 20],
  ['stateRoot', 32],
  ['transactionsRoot', 32],
  ['receiptsRoot', 32],
  ['logsBloom', 256],
  ['difficulty', 'number'],
  ['number', 'number'],
  ['gasLimit', 'number'],
  ['gasUsed', 'number'],
  ['timestamp', 'number'],
  ['extraData', null],
  ['mixHash', 32],
  ['nonce', 8],
]

/** Fields that later forks added, oldest first: London, Shanghai, Cancun (three), Prague. */
const ADDED: readonly (readonly [name: string, form: Form])[] = [
  ['baseFeePerGas', 'number'],
  ['withdrawalsRoot', 32],
  ['blobGasUsed', 'number'],
  ['excessBlobGas', 'number'],
  ['parentBeaconBlockRoot', 32],
  ['requestsHash', 32],
]

/**
 * Returns the hash of a block as `eth_getBlockByNumber` gives it, computed by Ethereum's rule from its header's fields.
 * Returns null when they cannot be encoded: a field is missing or malformed.
 */
export function headerHash(block: Readonly<Record<string, unknown>>): string | null {
  const added = ADDED.filter(([name]) => block[name] !== undefined && block[name] !== null)
  if (added.some((field, index) => field !== ADDED[index])) return null
  try {
    return `0x${keccakText(rlpList([...FIELDS, ...added].map(([name, form]) => itemOf(block[name], name, form))))}`
  } catch (error) {
    if (error instanceof BadAnswer) return null
    throw error
  }
}

function itemOf(value: unknown, name: string, form: Form): string {
  return form === 'number' ? rlpNumber(value, name) : rlpBytes(value, name, form ?? undefined)
}
