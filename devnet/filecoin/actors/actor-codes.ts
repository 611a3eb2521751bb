import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'
import { blake2b256 } from '../../../shared/filecoin/blake2b.ts'
import type { ActorKind } from '../vm/world-state.ts'
import { encodeUtf8 } from '../vm/utf8.ts'

/** Code from actors version 18 on the test networks, so that indexers recognize a channel. */
const PAYMENT_CHANNEL = 'bafk2bzacecycr25bi4fqwpkrkyiarch3qlhakt6l5linxrs4vpjzv5a3a55rg'

export const NETWORK_VERSION = 28

const RAW = 0x55
const BLAKE2B_256 = 0xb220
const IDENTITY = 0

const KINDS: readonly ActorKind[] = [
  'system',
  'account',
  'ethaccount',
  'init',
  'multisig',
  'paymentchannel',
  'placeholder',
  'evm',
  'bulletin',
]

/** The other codes are hashes of a name, because no program stands behind them. */
const codes = new Map<ActorKind, string>(
  KINDS.map((kind) => [kind, kind === 'paymentchannel' ? PAYMENT_CHANNEL : hashOfName(`fil/18/${kind}`)]),
)
const kinds = new Map([...codes].map(([kind, code]) => [code, kind]))

function hashOfName(name: string): string {
  return CID.createV1(RAW, createDigest(BLAKE2B_256, blake2b256(encodeUtf8(name)))).toString()
}

export function codeOf(kind: ActorKind): string {
  const code = codes.get(kind)
  if (code === undefined) throw new Error(`there is no code for ${kind}`)
  return code
}

export function kindOfCode(code: string): ActorKind | undefined {
  return kinds.get(code)
}

/**
 * Returns the codes of a network version by name: today's codes, or those of the named actors up to version 15. Returns
 * undefined for other versions.
 */
export function codesOfNetworkVersion(version: number): Map<string, string> | undefined {
  if (version === NETWORK_VERSION) return new Map(codes)
  const actors = namedActorsVersion(version)
  if (actors === undefined) return undefined
  const named = ['account', 'init', 'multisig', 'paymentchannel', 'system']
  return new Map(named.map((kind) => [kind, identity(`fil/${actors}/${kind}`)]))
}

function namedActorsVersion(version: number): number | undefined {
  const lastOf = [3, 9, 11, 12, 13, 14, 15]
  if (version < 0) return undefined
  const found = lastOf.findIndex((last) => version <= last)
  return found === -1 ? undefined : found + 1
}

function identity(name: string): string {
  return CID.createV1(RAW, createDigest(IDENTITY, encodeUtf8(name))).toString()
}
