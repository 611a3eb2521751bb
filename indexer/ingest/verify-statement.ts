import { hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import * as z from 'zod'
import { eip55 } from '../../shared/eip55.ts'
import type { SignedStatement } from '../../shared/events/handed-in.ts'
import {
  canonicalAddress,
  formatAddress,
  parseAddress,
  type FilecoinAddress,
  type NetworkLetter,
} from '../../shared/filecoin/address.ts'
import { recoverSecp256k1Address } from '../../shared/filecoin/verify-signature.ts'
import { validate } from '../../shared/mistake.ts'
import type { Channel } from '../../shared/channels/channel.evolve.ts'

/**
 * A statement that the dapp signs after making a channel: JSON text, and 65 bytes (r, s, recovery id) over its
 * blake2b-256. Its other fields (names, amounts, the message's CID) are known from the chains and not read here.
 */
export interface StatementFacts {
  /** Decimal, without leading zeros. */
  contractLoanId: string
  /** EIP-55. */
  contract: string
  /** The EVM chain's id as decimal text; null if the statement has none. */
  networkId: string | null
  /** 0x hex of 32 bytes; null if the statement has none. */
  secretHash: string | null
  /** The channel's two addresses as the statement names them: at least one is set. */
  channelAddress: string | null
  channelId: string | null
}

/** UTF-8 bytes; the dapp's statements have about 900. */
export const MAX_STATEMENT_BYTES = 16 * 1024

const UINT = 'must be a whole number of at most 78 digits'
/** A uint256 as text, or as a number that JSON did not round. */
const uintText = z
  .union([z.string().regex(/^\d{1,78}$/, UINT), z.int(UINT).min(0, UINT).transform(String)], UINT)
  .transform((text) => BigInt(text).toString())
const hash = z
  .string()
  .regex(/^(0x)?[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
  .transform((text) => `0x${text.replace(/^0x/, '').toLowerCase()}`)
const contract = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be 0x and 40 hex digits')
const channel = z.string().max(115)

/** Field names that the dapp used, for the collateral channel's statement and for the two others. */
const statementSchema = z.looseObject({
  contractLoanId: uintText,
  erc20LoansContract: contract.nullish(),
  erc20CollateralLock: contract.nullish(),
  erc20LoansNetworkId: uintText.nullish(),
  collateralNetwork: uintText.nullish(),
  networkId: uintText.nullish(),
  paymentChannelAddress: channel.nullish(),
  paymentChannelId: channel.nullish(),
  secretHashA1: hash.nullish(),
  secretHashB1: hash.nullish(),
})

type Facts = { ok: true; facts: StatementFacts } | { ok: false; reason: string }
type Read = { ok: true; facts: StatementFacts; signer: FilecoinAddress } | { ok: false; reason: string }

/** Reads a statement and recovers the key that signed it, whoever owns that key. Never throws. */
export function readStatement({ message, signature }: SignedStatement): Read {
  if (utf8ToBytes(message).length > MAX_STATEMENT_BYTES)
    return { ok: false, reason: `the statement has more than ${MAX_STATEMENT_BYTES} bytes` }
  // Postgres rejects NUL, and a text with half a surrogate pair cannot have been signed.
  if (/[\0\p{Cs}]/u.test(message))
    return { ok: false, reason: 'the statement has characters that are no text' }
  const json = parseJson(message)
  if (json === undefined) return { ok: false, reason: 'the statement is no JSON' }
  const parsed = validate(statementSchema, json)
  if (!parsed.ok) {
    const { path, message: mistake } = parsed.mistake
    return { ok: false, reason: `${path === '' ? 'the statement' : `the statement’s ${path}`} ${mistake}` }
  }
  const read = toFacts(parsed.value)
  if (!read.ok) return read
  const bytes = signatureBytes(signature)
  if (bytes === null) return { ok: false, reason: 'the signature is not 65 bytes of hex' }
  const signer = recoverSecp256k1Address(utf8ToBytes(message), bytes)
  return signer === null ? { ok: false, reason: 'no key gives this signature' } : { ...read, signer }
}

function toFacts(data: z.infer<typeof statementSchema>): Facts {
  const contracts = [data.erc20LoansContract, data.erc20CollateralLock].filter((text) => text != null)
  const [text] = contracts
  const contractAddress = text === undefined ? null : eip55(text)
  if (contractAddress === null) return { ok: false, reason: 'the statement names no contract' }
  if (contracts.length > 1) return { ok: false, reason: 'the statement names two contracts' }
  const channelAddress = data.paymentChannelAddress ?? null
  const channelId = data.paymentChannelId ?? null
  if (channelAddress === null && channelId === null)
    return { ok: false, reason: 'the statement names no payment channel' }
  return {
    ok: true,
    facts: {
      contractLoanId: data.contractLoanId,
      contract: contractAddress,
      networkId: data.erc20LoansNetworkId ?? data.collateralNetwork ?? data.networkId ?? null,
      secretHash: data.secretHashA1 ?? data.secretHashB1 ?? null,
      channelAddress,
      channelId,
    },
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/**
 * Whether the channel's `from` signed this statement about the channel. It must name the robust address, which no reorg
 * changes; the ID address counts only if it has no other.
 */
export function verifyStatement(
  statement: SignedStatement,
  channel: Pick<Channel, 'robust' | 'channelId' | 'from'>,
  letter: NetworkLetter,
): { ok: true; signer: string; facts: StatementFacts } | { ok: false; reason: string } {
  const read = readStatement(statement)
  if (!read.ok) return read
  const { channelAddress, channelId } = read.facts
  const [named, ours] =
    channelAddress === null ? [channelId ?? '', channel.channelId] : [channelAddress, channel.robust]
  if (canonicalAddress(named) === null || canonicalAddress(named) !== canonicalAddress(ours))
    return { ok: false, reason: `the statement names the channel ${named}` }
  const { signer } = read
  const { asWritten, robust } = channel.from
  const from = [asWritten, ...robust].flatMap((text) => parseAddress(text) ?? [])
  if (!from.some((address) => formatAddress(address, 'f') === formatAddress(signer, 'f')))
    return {
      ok: false,
      reason: `it is signed by ${formatAddress(signer, letter)}, who did not pay into the channel`,
    }
  return { ok: true, signer: formatAddress(signer, letter), facts: read.facts }
}

function signatureBytes(text: string): Uint8Array | null {
  const digits = /^(?:0x)?([0-9a-fA-F]{130})$/.exec(text)?.[1]
  return digits === undefined ? null : hexToBytes(digits)
}
