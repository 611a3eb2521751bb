import {
  MOST_BLOCKS,
  MOST_TIPSETS,
  type CertifiedTipset,
  type FinalityCertificate,
} from '../../../../shared/filecoin/f3/certificate.ts'
import {
  KEY_BYTES,
  MOST_PARTICIPANTS,
  type PowerDelta,
  type PowerTable,
} from '../../../../shared/filecoin/f3/power-table.ts'
import { BadAnswer } from '../../rpc/rpc-error.ts'
import { amount, bytesOf, cidOf, itemsOf, record, wholeNumber } from '../decode-json.ts'

/** (pure) Decoders of the answers about F3. Each throws a BadAnswer for a malformed answer or one above F3's limits. */

/** No power has more digits than 2^332. */
const MOST_POWER = 10n ** 100n

/** Decodes an answer of `F3GetCertificate` or `F3GetLatestCertificate`. */
export function decodeCertificate(value: unknown): FinalityCertificate {
  const certificate = record(value, 'certificate')
  const supplement = record(certificate['SupplementalData'], 'supplemental data')
  return {
    instance: wholeNumber(certificate['GPBFTInstance'], 'instance'),
    chain: listOf(certificate['ECChain'], 'certified chain', MOST_TIPSETS).map(certifiedTipset),
    supplement: {
      commitments: bytes(supplement['Commitments'], 'commitments', 32),
      powerTable: cidOf(supplement['PowerTable'], 'power table CID'),
    },
    signers: signersOf(certificate['Signers']),
    signature: bytes(certificate['Signature'], 'signature', 96),
    deltas: listOf(certificate['PowerTableDelta'], 'power changes', MOST_PARTICIPANTS).map(powerDelta),
  }
}

/** Decodes an answer of `F3GetPowerTableByInstance`. */
export function decodePowerTable(value: unknown): PowerTable {
  return listOf(value, 'power table', MOST_PARTICIPANTS).map((item) => {
    const entry = record(item, 'participant')
    const power = powerOf(entry['Power'])
    if (power <= 0n) throw new BadAnswer('power table: a participant without power')
    return {
      id: wholeNumber(entry['ID'], 'participant number'),
      power,
      key: bytes(entry['PubKey'], 'participant key', KEY_BYTES),
    }
  })
}

function certifiedTipset(value: unknown): CertifiedTipset {
  const tipset = record(value, 'certified tipset')
  const cids = listOf(tipset['Key'], 'certified tipset key', MOST_BLOCKS)
  if (cids.length === 0) throw new BadAnswer('certified tipset: without a block')
  return {
    epoch: wholeNumber(tipset['Epoch'], 'certified epoch'),
    key: cids.map((cid) => cidOf(cid, 'certified block')).join(','),
    powerTable: cidOf(tipset['PowerTable'], 'power table CID'),
    commitments: bytes(tipset['Commitments'], 'commitments', 32),
  }
}

function powerDelta(value: unknown): PowerDelta {
  const delta = record(value, 'power change')
  const key = bytesOf(delta['SigningKey'], 'participant key')
  if (key.length > 0 && key.length !== KEY_BYTES) throw new BadAnswer(`participant key: ${key.length} bytes`)
  return {
    id: wholeNumber(delta['ParticipantID'], 'participant number'),
    power: powerOf(delta['PowerDelta']),
    key,
  }
}

/** Decodes a bit field: the lengths of runs of zeros and ones in turn, zeros first. */
function signersOf(value: unknown): number[] {
  const signers: number[] = []
  let at = 0
  listOf(value, 'signers', 2 * MOST_PARTICIPANTS).forEach((item, run) => {
    const length = wholeNumber(item, 'signers')
    if (at + length > MOST_PARTICIPANTS) throw new BadAnswer(`signers: more than ${MOST_PARTICIPANTS}`)
    if (run % 2 === 1) for (let place = at; place < at + length; place += 1) signers.push(place)
    at += length
  })
  return signers
}

function powerOf(value: unknown): bigint {
  const power = amount(value, 'power')
  if (power < MOST_POWER && power > -MOST_POWER) return power
  throw new BadAnswer('power: too many digits')
}

function bytes(value: unknown, what: string, length: number): Uint8Array {
  const found = bytesOf(value, what)
  if (found.length === length) return found
  throw new BadAnswer(`${what}: ${found.length} bytes`)
}

function listOf(value: unknown, what: string, most: number): unknown[] {
  const items = itemsOf(value, what)
  if (items.length <= most) return items
  throw new BadAnswer(`${what}: more than ${most} items`)
}
