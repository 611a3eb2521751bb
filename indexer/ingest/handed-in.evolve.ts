import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import type { HandedInEvent, HandInWay } from '../../shared/events/filecoin-event.ts'
import type { HandedIn } from '../../shared/events/handed-in.ts'
import {
  formatAddress,
  parseAddress,
  type FilecoinAddress,
  type NetworkLetter,
} from '../../shared/filecoin/address.ts'
import { blake2b256 } from '../../shared/filecoin/blake2b.ts'
import { DecodeError } from '../../shared/filecoin/decode-error.ts'
import { voucherFromText, voucherText } from '../../shared/filecoin/voucher.ts'
import { voucherFacts } from '../../shared/filecoin/voucher-facts.ts'
import type { Channel } from '../../shared/channels/channel.evolve.ts'
import { readStatement, verifyStatement } from './verify-statement.ts'
import { reasonAgainstForm, verifyVoucher } from './verify-voucher.ts'

/** A voucher or statement, read as far as possible without its channel. */
export interface ReadHandedIn {
  /** The channel that it names, with the network's letter. */
  channelAddr: string
  /** The same item in its only spelling, by which duplicates are found. */
  item: HandedIn
  /**
   * The `txHash` of its event if that contains the signature: an accepted event with the same text proves this item.
   */
  signedText: string | null
  /** Returns its event, or the reason for a refusal. Verifies the signature. */
  judge: (channel: Channel, way: HandInWay) => Judgement
}

/** `mayChange` and `isSigned` mean the same as in a voucher's verdict. */
export type Judgement =
  { ok: true; event: HandedInEvent } | { ok: false; reason: string; mayChange: boolean; isSigned: boolean }

type Reading = { ok: true; read: ReadHandedIn } | { ok: false; reason: string }

/** No block contains what is signed off-chain. */
const NOWHERE = { blockNumber: 0, blockHash: '', blockTimeS: 0, logIndex: 0, txLogIndex: 0 }

/** Refuses an item that no channel could make valid. Never throws. */
export function readHandedIn(item: HandedIn, letter: NetworkLetter): Reading {
  return 'voucher' in item ? readVoucher(item.voucher, letter) : readSigned(item.statement, letter)
}

function readVoucher(text: string, letter: NetworkLetter): Reading {
  try {
    const voucher = voucherFromText(text)
    const { channelAddr } = voucher
    if (!canBeChannel(channelAddr)) return { ok: false, reason: 'what it names is no address of an actor' }
    const formReason = reasonAgainstForm(voucher)
    if (formReason !== null) return { ok: false, reason: formReason }
    const { text: kept, key } = voucherFacts(voucher, letter)
    const txHash = kept ?? key
    const judge = (channel: Channel, way: HandInWay): Judgement => {
      const verdict = verifyVoucher(voucher, channel, letter)
      if (!verdict.ok) return verdict
      const { signer, facts } = verdict
      return {
        ok: true,
        event: {
          ...NOWHERE,
          kind: 'SignedVoucher',
          txHash,
          channel: channel.robust,
          signer,
          way,
          voucher: facts,
        },
      }
    }
    const item = { voucher: voucherText(voucher) }
    return {
      ok: true,
      read: { channelAddr: formatAddress(channelAddr, letter), item, signedText: kept, judge },
    }
  } catch (error) {
    if (error instanceof DecodeError) return { ok: false, reason: error.message }
    throw error
  }
}

function readSigned(
  statement: Extract<HandedIn, { statement: unknown }>['statement'],
  letter: NetworkLetter,
): Reading {
  const parsed = readStatement(statement)
  if (!parsed.ok) return parsed
  const named = parsed.facts.channelAddress ?? parsed.facts.channelId ?? ''
  const address = parseAddress(named)
  if (address === null || !canBeChannel(address))
    return { ok: false, reason: `the statement's channel ${JSON.stringify(named)} is no address of an actor` }
  // A hash: the text is too long for look-ups.
  const txHash = bytesToHex(blake2b256(utf8ToBytes(statement.message)))
  const judge = (channel: Channel, way: HandInWay): Judgement => {
    const verdict = verifyStatement(statement, channel, letter)
    if (!verdict.ok) return { ...verdict, mayChange: false, isSigned: false }
    const { contractLoanId, contract, networkId, secretHash } = verdict.facts
    return {
      ok: true,
      event: {
        ...NOWHERE,
        kind: 'SignedStatement',
        txHash,
        channel: channel.robust,
        signer: verdict.signer,
        way,
        contractLoanId,
        contract,
        networkId,
        secretHash,
        message: statement.message,
      },
    }
  }
  return {
    ok: true,
    read: { channelAddr: formatAddress(address, letter), item: { statement }, signedText: null, judge },
  }
}

/** A channel is named by its ID or by the robust address that the Init actor gave it. */
function canBeChannel({ protocol }: FilecoinAddress): boolean {
  return protocol === 0 || protocol === 2
}
