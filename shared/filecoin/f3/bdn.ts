import { bls12_381 } from '@noble/curves/bls12-381.js'
import { pippenger } from '@noble/curves/abstract/curve.js'
import { LRUCache } from 'lru-cache'
import { bytesToHex, concatBytes } from '../bytes.ts'
import { DecodeError } from '../decode-error.ts'
import { blake2xs } from './blake2xs.ts'
import { MOST_PARTICIPANTS } from './power-table.ts'

/**
 * Aggregates of BLS keys and signatures after Boneh, Drijvers and Neven: each counts as often as a hash over all keys
 * says, so that nobody can choose a key that cancels others.
 */

type KeyPoint = InstanceType<typeof bls12_381.G1.Point>

const COEFFICIENT_BYTES = 16
/** A key takes 0.6 ms, and 2 ms more when it is new. */
const KEYS_PER_TURN = 16

const points = new LRUCache<string, KeyPoint>({ max: MOST_PARTICIPANTS })

/** Returns how often each key and its signature count. `keys` are those of the whole table, in its order. */
export function bdnFactors(keys: readonly Uint8Array[]): bigint[] {
  const output = new DataView(blake2xs(concatBytes(...keys), COEFFICIENT_BYTES * keys.length).buffer)
  return keys.map((_, at) => {
    const low = output.getBigUint64(COEFFICIENT_BYTES * at, true)
    const high = output.getBigUint64(COEFFICIENT_BYTES * at + 8, true)
    return (high << 64n) + low + 1n
  })
}

/**
 * Returns the sum of the signers' keys. `signers` are places among `keys`. Calls `turn` between parts of some 40 ms. Throws
 * a DecodeError for bytes that are no key.
 */
export async function aggregateKey(
  keys: readonly Uint8Array[],
  signers: readonly number[],
  turn: () => Promise<void>,
): Promise<KeyPoint> {
  const factors = bdnFactors(keys)
  let sum = bls12_381.G1.Point.ZERO
  for (let at = 0; at < signers.length; at += KEYS_PER_TURN) {
    await turn()
    const part = signers.slice(at, at + KEYS_PER_TURN)
    const factored = part.map((signer) => factors[signer] ?? 0n)
    sum = sum.add(
      pippenger(
        bls12_381.G1.Point,
        part.map((signer) => pointOf(keys[signer])),
        factored,
      ),
    )
  }
  return sum
}

function pointOf(key: Uint8Array = new Uint8Array()): KeyPoint {
  const name = bytesToHex(key)
  const known = points.get(name)
  if (known !== undefined) return known
  try {
    const point = bls12_381.G1.Point.fromBytes(key)
    if (point.is0()) throw new RangeError('the point at infinity')
    points.set(name, point)
    return point
  } catch (error) {
    throw new DecodeError('power table: bytes that are no BLS key', { cause: error })
  }
}
