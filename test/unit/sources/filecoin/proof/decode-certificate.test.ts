import t from 'tap'
import { bytesToHex } from '../../../../../shared/filecoin/bytes.ts'
import { chainRoot, payloadToSign } from '../../../../../shared/filecoin/f3/certificate.ts'
import { verifyCertificate } from '../../../../../shared/filecoin/f3/verify-certificate.ts'
import {
  decodeCertificate,
  decodePowerTable,
} from '../../../../../indexer/sources/filecoin/proof/decode-certificate.ts'
import { BadAnswer } from '../../../../../indexer/sources/rpc/rpc-error.ts'
import { f3Vectors } from '../../../../helpers/proof-vectors.ts'

const { certificates, tables } = f3Vectors()
const [vector] = certificates
const answer = vector?.certificate as Record<string, unknown>
const entries = (tables[0]?.entries ?? []).map(([ID, Power, PubKey]) => ({ ID, Power, PubKey }))

void t.test('a real certificate', async (t) => {
  const certificate = decodeCertificate(answer)
  t.same(certificate.signers, vector?.signers)
  t.equal(bytesToHex(chainRoot(certificate.chain)), vector?.chainRoot)
  t.equal(bytesToHex(payloadToSign(vector?.network ?? '', certificate)), vector?.payloadToSign)
  t.match(certificate, { instance: 6204, deltas: [{ id: 3782, power: 76347338653696n }] })
  const committee = {
    network: 'calibrationnet',
    instance: 6204,
    table: decodePowerTable(entries),
    base: null,
  }
  await t.rejects(verifyCertificate(certificate, committee), /its signers have 43022 of 65526/)
})

void t.test('hostile answers', (t) => {
  const lie = (changes: object) => () => decodeCertificate({ ...answer, ...changes })
  const [tipset] = answer['ECChain'] as Record<string, unknown>[]
  const [link] = tipset?.['Key'] as unknown[]
  const [delta] = answer['PowerTableDelta'] as Record<string, unknown>[]
  const lies: Record<string, () => unknown> = {
    'too many tipsets': lie({ ECChain: Array.from({ length: 129 }, () => tipset) }),
    'too many blocks': lie({ ECChain: [{ ...tipset, Key: Array.from({ length: 21 }, () => link) }] }),
    'no block': lie({ ECChain: [{ ...tipset, Key: null }] }),
    'an epoch below zero': lie({ ECChain: [{ ...tipset, Epoch: -1 }] }),
    'a list that is none': lie({ ECChain: {} }),
    'signers out of range': lie({ Signers: [0, 8193] }),
    'signers far out of range': lie({ Signers: [Number.MAX_SAFE_INTEGER, 1] }),
    'too many runs': lie({ Signers: Array.from({ length: 16_385 }, () => 0) }),
    'a run below zero': lie({ Signers: [-1, 2] }),
    'a short signature': lie({ Signature: 'AAAA' }),
    'too many changes': lie({ PowerTableDelta: Array.from({ length: 8193 }, () => delta) }),
    'a short key': lie({ PowerTableDelta: [{ ...delta, SigningKey: 'AAAA' }] }),
    'a huge power': lie({ PowerTableDelta: [{ ...delta, PowerDelta: '9'.repeat(200) }] }),
    'a rounded instance': lie({ GPBFTInstance: 2 ** 60 }),
    nothing: () => decodeCertificate(null),
    'too many participants': () => decodePowerTable(Array.from({ length: 8193 }, () => entries[0])),
    'a participant without power': () => decodePowerTable([{ ...entries[0], Power: '0' }]),
    'a participant with a short key': () => decodePowerTable([{ ...entries[0], PubKey: 'AAAA' }]),
  }
  for (const [name, decode] of Object.entries(lies)) t.throws(decode, BadAnswer, name)
  t.end()
})
