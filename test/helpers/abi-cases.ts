import { AbiCoder } from 'ethers'
import { EVENT_LAYOUTS, functionLayout } from '../../indexer/sources/evm/contracts.ts'
import { decodeByEthers } from '../../indexer/sources/evm/decode-abi.ts'
import { seededRandom } from './random-chain.ts'

/** Seeded data of the two contracts' types, well-formed and malformed, for comparing two decoders. */

type Random = ReturnType<typeof seededRandom>

export interface AbiCase {
  types: readonly string[]
  /** `0x` and lower-case hex. */
  data: string
}

const ROLES = ['erc20Loans', 'erc20CollateralLock'] as const

/** All decoded type lists: events, results of `fetchLoan`, direct calls. */
const TYPE_LISTS: readonly (readonly string[])[] = [
  ...ROLES.flatMap((role) => [...EVENT_LAYOUTS[role].values()].map(({ types }) => types)),
  ...ROLES.map((role) => functionLayout(role, 'fetchLoan').outputs),
  functionLayout('erc20Loans', 'createLoanOffer').types,
  functionLayout('erc20CollateralLock', 'createBorrowRequest').types,
  functionLayout('erc20CollateralLock', 'unlockCollateral').types,
]

const coder = AbiCoder.defaultAbiCoder()
const LENGTHS = [0, 1, 31, 32, 33, 41, 64, 200]
const HOSTILE_WORDS = ['0'.repeat(64), 'f'.repeat(64), '0'.repeat(62) + '40', '8' + '0'.repeat(63)]

export function* abiCases(seed: number, count: number): Generator<AbiCase> {
  const random = seededRandom(seed)
  for (let made = 0; made < count; made += 1) {
    const types = pick(random, TYPE_LISTS)
    const data = coder.encode(
      types,
      types.map((type) => valueOf(type, random)),
    )
    // A third is well-formed; the others are damaged once or several times.
    yield { types, data: random.chance(0.34) ? data : broken(data, random) }
  }
}

/** Yields one encoding of each type list, and one variant for each of its digits. */
export function* digitByDigit(seed: number): Generator<AbiCase> {
  const random = seededRandom(seed)
  for (const types of TYPE_LISTS) {
    const data = coder.encode(
      types,
      types.map((type) => valueOf(type, random)),
    )
    yield { types, data }
    for (let place = 2; place < data.length; place += 1) {
      const other = data[place] === '1' ? '2' : '1'
      yield { types, data: data.slice(0, place) + other + data.slice(place + 1) }
    }
  }
}

/** Throws when the data is not the canonical encoding of such values. */
type StrictDecoder = (types: readonly string[], data: string) => string[]

/** Returns a decoder's result for a case; null where it refuses. */
export function outcome(decode: StrictDecoder, { types, data }: AbiCase): string | null {
  try {
    return JSON.stringify(decode(types, data))
  } catch {
    return null
  }
}

/** Throws where the two disagree; otherwise returns whether the case was well-formed. */
export function compareDecoders(decode: StrictDecoder, one: AbiCase): boolean {
  const [found, expected] = [outcome(decode, one), outcome(decodeByEthers, one)]
  if (found === expected) return expected !== null
  throw new Error(
    `(${one.types.join()}) ${one.data}: ${found ?? 'refused'} instead of ${expected ?? 'refused'}`,
  )
}

function valueOf(type: string, random: Random): unknown {
  const [, item = '', length] = /^(.+)\[(\d+)\]$/.exec(type) ?? []
  if (length !== undefined) return Array.from({ length: Number(length) }, () => valueOf(item, random))
  const bits = Number(/^uint(\d+)$/.exec(type)?.[1] ?? 0)
  if (bits > 0) return BigInt(hexOf(1 + random.below(bits / 8), random))
  if (type === 'address') return hexOf(20, random)
  return hexOf(type === 'bytes32' ? 32 : pick(random, LENGTHS), random)
}

function broken(data: string, random: Random): string {
  let text = data
  do text = brokenOnce(text, random)
  while (random.chance(0.3))
  return text
}

function brokenOnce(data: string, random: Random): string {
  const words = Math.floor((data.length - 2) / 64)
  const wordAt = (): number => 2 + 64 * random.below(Math.max(1, words))
  const at = wordAt()
  switch (random.below(8)) {
    case 0: {
      const place = 2 + random.below(Math.max(1, data.length - 2))
      return data.slice(0, place) + random.below(16).toString(16) + data.slice(place + 1)
    }
    case 1:
      return data.slice(0, 2 + 2 * random.below(data.length / 2))
    case 2:
      return data + hexOf(1 + random.below(64), random).slice(2)
    case 3:
      return data.slice(0, at) + pick(random, HOSTILE_WORDS) + data.slice(at + 64)
    case 4:
      // Puts one word of the data in another's place: an offset or a length that points elsewhere.
      return data.slice(0, at) + wordOf(data, wordAt()).padEnd(64, '0') + data.slice(at + 64)
    case 5:
      return data.slice(0, at) + data.slice(at + 64)
    case 6:
      return data.slice(0, at) + data.slice(at, at + 64) + data.slice(at)
    default:
      return hexOf(random.below(400), random)
  }
}

function hexOf(length: number, random: Random): string {
  let text = '0x'
  for (let index = 0; index < length; index += 1) text += random.below(256).toString(16).padStart(2, '0')
  return text
}

function pick<T>(random: Random, list: readonly T[]): T {
  const item = list[random.below(list.length)]
  if (item === undefined) throw new Error('an empty list')
  return item
}

function wordOf(data: string, at: number): string {
  return data.slice(at, at + 64)
}
