import t, { type Test } from 'tap'
import { createRandom, type Random } from '../../../../devnet/evm/random.ts'
import { DevCommittee } from '../../../../devnet/filecoin/f3/committee.ts'
import { DecodeError } from '../../../../shared/filecoin/decode-error.ts'
import type { CertifiedTipset, FinalityCertificate } from '../../../../shared/filecoin/f3/certificate.ts'
import {
  powerTableCid,
  type PowerEntry,
  type PowerTable,
} from '../../../../shared/filecoin/f3/power-table.ts'
import { verifyCertificate, type Committee } from '../../../../shared/filecoin/f3/verify-certificate.ts'
import { cidOfBytes } from '../../../../shared/filecoin/cid.ts'
import { testSeed } from '../../../helpers/test-seed.ts'

const dev = new DevCommittee('devnet', `f3 ${testSeed(t)}`)

function tipset(epoch: number): CertifiedTipset {
  const key = [0, 1].map((block) => cidOfBytes(Uint8Array.of(epoch, block))).join(',')
  return { epoch, key, powerTable: powerTableCid(dev.table(epoch)), commitments: new Uint8Array(32) }
}

/** Instances of three tipsets each. */
function certificate(instance: number, signers?: readonly number[]): FinalityCertificate {
  const chain = [0, 1, 2, 3].map((at) => tipset(3 * instance + at))
  return dev.certify({ instance, chain }, signers)
}

function committee(instance: number, table: PowerTable = dev.table(instance)): Committee {
  return { network: dev.network, instance, table, base: tipset(3 * instance) }
}

async function refuses(
  t: Test,
  lie: FinalityCertificate,
  reason: RegExp,
  before: Committee = committee(lie.instance),
): Promise<void> {
  const found: unknown = await verifyCertificate(lie, before).catch((error: unknown) => error)
  t.type(found, DecodeError)
  t.match(found, { message: reason })
}

void t.test('certificates in a row lead from one power table to the next', async (t) => {
  let known: Committee = committee(0)
  const sizes = new Set<number>()
  for (let instance = 0; instance < 6; instance += 1) {
    known = await verifyCertificate(certificate(instance), known)
    t.same(known, { ...committee(instance + 1), base: tipset(3 * instance + 3) })
    sizes.add(known.table.length)
  }
  t.same([...sizes].sort(), [4, 5], 'a participant left and came back')
})

void t.test('two thirds of the power are enough, and less is not', async (t) => {
  const { signers } = certificate(1)
  await verifyCertificate(certificate(1, signers), committee(1))
  await refuses(t, certificate(1, signers.slice(0, -1)), /signers have \d+ of \d+ parts of the power/)
  await refuses(t, { ...certificate(1), signers: [] }, /signers have 0 of/)
  await refuses(t, { ...certificate(1), signers: [0, 1, 2, 3, 4] }, /not that of its signers/)
  await refuses(t, { ...certificate(1), signers: [...signers, 7] }, /no participant 7/)
  await refuses(t, { ...certificate(1), signers: [0, 0, 1, 2] }, /no participant 0/)
  const empty = { ...certificate(1), signers: [], deltas: [] }
  const supplement = { ...empty.supplement, powerTable: powerTableCid([]) }
  await refuses(t, { ...empty, supplement }, /0 of 0/, committee(1, []))
})

void t.test('a power table that was swapped', async (t) => {
  const other = new DevCommittee('devnet', 'another seed')
  await refuses(t, certificate(1), /do not lead to the power table/, committee(1, other.table(1)))
  const theirs = other.certify({ instance: 1, chain: certificate(1).chain })
  await refuses(t, theirs, /do not lead to the power table/)
  await refuses(t, { ...theirs, supplement: certificate(1).supplement }, /not that of its signers/)
  const { deltas } = certificate(1)
  await refuses(t, { ...certificate(1), deltas: deltas.slice(1) }, /do not lead to the power table/)
  await refuses(t, { ...certificate(1), deltas: deltas.toReversed() }, /not in the order/)
  const empty = { id: 1, power: 0n, key: new Uint8Array() }
  await refuses(t, { ...certificate(1), deltas: [empty] }, /an empty change/)
  await refuses(t, { ...certificate(1), deltas: [{ ...empty, power: 5n }] }, /without power or key/)
  await refuses(
    t,
    { ...certificate(1), deltas: [{ ...empty, id: 1000, power: -(10n ** 20n) }] },
    /below zero/,
  )
})

void t.test('10,000 lies of each kind: 0 accepted', async (t) => {
  const random = createRandom(`lies ${testSeed(t)}`)
  const honest = Array.from({ length: 12 }, (_, instance) => certificate(instance))
  const accepted = { 'too little power': 0, 'a power table swapped': 0 }
  const isAccepted = async (lie: FinalityCertificate, before: Committee): Promise<number> => {
    const outcome: unknown = await verifyCertificate(lie, before).catch((error: unknown) => error)
    return outcome instanceof DecodeError ? 0 : 1
  }
  for (let count = 0; count < 10_000; count += 1) {
    const truth = honest[count % honest.length] ?? certificate(0)
    const before = committee(truth.instance)
    // The signers of an honest certificate are the strongest, and just enough.
    const gone = random.int(0, truth.signers.length - 1)
    const weak = truth.signers.filter((_, at) => at !== gone && random.chance(0.8))
    accepted['too little power'] += await isAccepted({ ...truth, signers: weak }, before)
    const at = random.int(0, before.table.length - 1)
    const table = before.table.map((entry, place) => (place === at ? swapped(entry, random) : entry))
    accepted['a power table swapped'] += await isAccepted(truth, { ...before, table })
  }
  t.same(accepted, { 'too little power': 0, 'a power table swapped': 0 })
})

/** Another power, key or number. */
function swapped(entry: PowerEntry, random: Random): PowerEntry {
  const change = random.int(0, 2)
  if (change === 0) return { ...entry, power: entry.power + BigInt(random.int(1, 1000)) }
  if (change === 1) return { ...entry, id: entry.id + random.int(100, 1000) }
  const key = entry.key.slice()
  const byte = random.int(0, key.length - 1)
  key[byte] = (key[byte] ?? 0) ^ random.int(1, 255)
  return { ...entry, key }
}

void t.test('another chain than that which was signed', async (t) => {
  const honest = certificate(2)
  const chain = [...honest.chain.slice(0, -1), { ...tipset(9), key: tipset(10).key }]
  await refuses(t, { ...honest, chain }, /not that of its signers/)
  await refuses(t, { ...honest, chain: honest.chain.slice(0, -1) }, /not that of its signers/)
  await refuses(
    t,
    { ...honest, chain: honest.chain.toReversed() },
    /continues the tipset at 9, not that at 6/,
  )
  const base = { ...committee(2), base: null }
  await refuses(t, { ...honest, chain: honest.chain.toReversed() }, /not in order/, base)
  await refuses(t, { ...honest, chain: [] }, /has no tipset/)
  await refuses(t, { ...honest, chain: [tipset(6), { ...tipset(7), key: 'no CID' }] }, /malformed CID/)
  await refuses(t, certificate(3), /it is of instance 3/, committee(2))
  await refuses(t, honest, /not that of its signers/, { ...committee(2), network: 'another' })
})

void t.test('bytes that are no signature or no key', async (t) => {
  await refuses(t, { ...certificate(1), signature: new Uint8Array(96) }, /no point of the curve/)
  await refuses(t, { ...certificate(1), signature: new Uint8Array(5) }, /not that of its signers/)
  const infinity = new Uint8Array(96)
  infinity[0] = 0xc0
  await refuses(t, { ...certificate(1), signature: infinity }, /no point|not that/)
  for (const first of [0, 0xc0]) {
    const key = new Uint8Array(48)
    key[0] = first
    const table = dev.table(1).map((entry, at) => (at === 0 ? { ...entry, key } : entry))
    const powerTable = powerTableCid(table)
    const lie = { ...certificate(1), deltas: [], supplement: { ...certificate(1).supplement, powerTable } }
    await refuses(t, lie, /no BLS key/, committee(1, table))
  }
})
