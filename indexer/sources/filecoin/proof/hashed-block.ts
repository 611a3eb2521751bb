import { encodeAddress, parseAddress } from '../../../../shared/filecoin/address.ts'
import { blockCid, parseCid } from '../../../../shared/filecoin/block-cid.ts'
import { encodeBlockHeader, type BlockHeader } from '../../../../shared/filecoin/block-header.ts'
import { concatBytes } from '../../../../shared/filecoin/bytes.ts'
import { BadAnswer } from '../../rpc/rpc-error.ts'
import { amount, integer, itemsOf, isRecord, record, textOf, wholeNumber } from '../decode-json.ts'

/**
 * (pure) A block header of a node's answer, reduced to the fields that are read later and the CID computed from all of
 * its fields. The JSON of Lotus holds every field of the hashed CBOR, so hashing costs no further request. The fields
 * hold the node's values, which may be malformed.
 */
export class HashedBlock {
  readonly Height: unknown
  readonly Parents: unknown
  readonly Timestamp: unknown
  readonly ParentMessageReceipts: unknown
  readonly Messages: unknown
  /** 38 bytes; null when a field is missing or malformed. */
  readonly cid: Uint8Array | null

  constructor(block: Record<string, unknown>) {
    this.Height = block['Height']
    this.Parents = block['Parents']
    this.Timestamp = block['Timestamp']
    this.ParentMessageReceipts = block['ParentMessageReceipts']
    this.Messages = block['Messages']
    this.cid = cidOfHeader(block)
  }
}

function cidOfHeader(block: Record<string, unknown>): Uint8Array | null {
  try {
    return blockCid(encodeBlockHeader(headerOf(block)))
  } catch (error) {
    if (error instanceof BadAnswer || error instanceof RangeError) return null
    throw error
  }
}

function headerOf(block: Record<string, unknown>): BlockHeader {
  const { Ticket: ticket, ElectionProof: election } = block
  return {
    miner: addressOf(block['Miner']),
    ticket: ticket === null ? null : base64Of(record(ticket, 'ticket')['VRFProof']),
    electionProof: election === null ? null : electionOf(record(election, 'election proof')),
    beaconEntries: itemsOf(block['BeaconEntries'], 'beacon entries').map((item) => {
      const { Round, Data } = record(item, 'beacon entry')
      return { round: integer(Round, 'round'), data: base64Of(Data) }
    }),
    winPoStProof: itemsOf(block['WinPoStProof'], 'proofs').map((item) => {
      const { PoStProof, ProofBytes } = record(item, 'proof')
      return { type: integer(PoStProof, 'proof type'), bytes: base64Of(ProofBytes) }
    }),
    parents: itemsOf(block['Parents'], 'parents').map(linkOf),
    parentWeight: amount(block['ParentWeight'], 'weight'),
    height: integer(block['Height'], 'height'),
    parentStateRoot: linkOf(block['ParentStateRoot']),
    parentMessageReceipts: linkOf(block['ParentMessageReceipts']),
    messages: linkOf(block['Messages']),
    blsAggregate: signatureOf(block['BLSAggregate']),
    timestampS: integer(block['Timestamp'], 'time'),
    blockSig: signatureOf(block['BlockSig']),
    forkSignaling: integer(block['ForkSignaling'], 'fork signaling'),
    parentBaseFee: amount(block['ParentBaseFee'], 'base fee'),
  }
}

function electionOf({ WinCount, VRFProof }: Record<string, unknown>): BlockHeader['electionProof'] {
  return { winCount: integer(WinCount, 'win count'), vrfProof: base64Of(VRFProof) }
}

function addressOf(value: unknown): Uint8Array {
  const address = parseAddress(textOf(value, 'miner'))
  if (address === null) throw new BadAnswer('miner: no address')
  return encodeAddress(address)
}

function linkOf(value: unknown): Uint8Array {
  const cid = isRecord(value) ? parseCid(textOf(value['/'], 'CID')) : null
  if (cid === null) throw new BadAnswer('CID: malformed')
  return cid
}

function signatureOf(value: unknown): Uint8Array | null {
  if (value === null) return null
  const { Type, Data } = record(value, 'signature')
  return concatBytes(Uint8Array.of(wholeNumber(Type, 'signature type')), base64Of(Data))
}

/** Go writes empty bytes as null. Malformed text gives other bytes, and these another CID. */
function base64Of(value: unknown): Uint8Array {
  return value === null ? new Uint8Array() : Buffer.from(textOf(value, 'bytes'), 'base64')
}
