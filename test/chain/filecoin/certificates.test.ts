import t, { type Test } from 'tap'
import { lotusFaults } from '../../../devnet/faults/weather.ts'
import type { Fault } from '../../../devnet/faults/fault.ts'
import { certificateForm } from '../../../devnet/filecoin/rpc/f3-methods.ts'
import { DevCommittee } from '../../../devnet/filecoin/f3/committee.ts'
import type { Lotus } from '../../../devnet/filecoin/lotus.ts'
import {
  createFilecoinSource,
  type FilecoinSource,
} from '../../../indexer/sources/filecoin/filecoin-source.ts'
import { cidOfBytes } from '../../../shared/filecoin/cid.ts'
import { powerTableCid } from '../../../shared/filecoin/f3/power-table.ts'
import type { CertificateProgress, PowerTableRef } from '../../../shared/filecoin/f3/progress.ts'
import { eventually } from '../../helpers/programs.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { startProxy } from '../sources/faulty-proxy.ts'
import { networkOf } from './catch-up.ts'
import { keyAt } from './chain-truth.ts'
import { startChain } from './traffic.ts'

const seed = String(testSeed(t))
t.setTimeout(200_000)

/** A chain that certifies every four epochs what is five behind the head. */
async function certifiedChain(t: Test): Promise<Lotus> {
  const lotus = await startChain(t, { seed, nullRoundChance: 0.2, finalityEpochs: 5, certifyEvery: 4 })
  await lotus.chain.mine(60)
  return lotus
}

const pinOf = (instance: number): PowerTableRef => ({
  instance,
  powerTable: powerTableCid(committee.table(instance)),
})
const committee = new DevCommittee('devnet-2k', seed)

interface Options {
  pin?: PowerTableRef | null
  stored?: CertificateProgress | null
  restMs?: number
}

function open(t: Test, urls: string[], { pin = null, stored = null, restMs = 0 }: Options = {}) {
  const reports: string[] = []
  const network = networkOf({ url: '' }, { rpcUrls: urls, certificates: pin })
  const source = createFilecoinSource(network, {
    certificateRestMs: restMs,
    report: (_, message) => reports.push(message),
  })
  source.certificates.begin(stored)
  t.teardown(() => source.close())
  return { source, reports }
}

/** Looks at the head until all that the node certified is verified. */
async function untilCertified(t: Test, source: FilecoinSource, { chain, certifier }: Lotus): Promise<void> {
  const final = certifier?.finalized.height ?? 0
  await eventually('all is certified', async () => {
    await source.head()
    return source.certified()?.number === final
  })
  t.same(source.certified(), { number: final, hash: keyAt(chain, final) })
  t.same(await source.finalized(), source.certified(), 'as the node says')
}

/** Answers these methods with what `say` returns for an instance, and others truly. */
function saying(methods: readonly string[], say: (instance: number) => unknown, { certifier }: Lotus): Fault {
  return async (requests, truth) => {
    const asked = new Map(requests.map((request) => [request.id, request]))
    return (await truth()).map((answer) => {
      const { method = '', params = [] } = asked.get(answer.id) ?? {}
      if (!methods.includes(method.replace('Filecoin.', ''))) return answer
      const instance = typeof params[0] === 'number' ? params[0] : (certifier?.latest ?? 0)
      return { id: answer.id, result: JSON.parse(JSON.stringify(say(instance), asBase64)) as unknown }
    })
  }
}

function asBase64(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const bytes = this[name]
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString('base64') : value
}

const CERTIFICATES = ['F3GetLatestCertificate', 'F3GetCertificate']

void t.test('certificates are verified from the pinned power table to the newest', async (t) => {
  const lotus = await certifiedChain(t)
  const methods: string[] = []
  const proxy = await startProxy(t, lotus.url, (requests) => {
    methods.push(...requests.map(({ method }) => method))
    return null
  })
  const first = open(t, [proxy.url], { pin: pinOf(0) })
  await untilCertified(t, first.source, lotus)
  const older = first.source.certificates.progress
  await lotus.chain.mine(9)
  await untilCertified(t, first.source, lotus)
  // A session of the reader ended before it stored that.
  first.source.certificates.begin(older)
  await lotus.chain.mine(5)
  await untilCertified(t, first.source, lotus)
  t.same(first.reports, [])
  const stored = first.source.certificates.progress
  t.match(stored, { network: 'devnet-2k', pinned: pinOf(0), next: pinOf((lotus.certifier?.latest ?? 0) + 1) })
  await lotus.chain.mine(30)
  methods.length = 0
  const second = open(t, [proxy.url], { pin: pinOf(0), stored })
  await untilCertified(t, second.source, lotus)
  t.notOk(methods.includes('Filecoin.F3GetManifest'), 'nothing is trusted anew')
  t.match(second.source.certificates.progress, { pinned: pinOf(0) })
})

void t.test('without a configured table the first one is pinned, and that is told', async (t) => {
  const lotus = await certifiedChain(t)
  const latest = lotus.certifier?.latest ?? 0
  const { source, reports } = open(t, [lotus.url])
  await untilCertified(t, source, lotus)
  t.match(source.certificates.progress, { pinned: pinOf(latest), next: pinOf(latest + 1) })
  t.match(reports, [/power table bafy\w+ of instance \d+ is trusted on the word of/])
  const other = open(t, [lotus.url], { pin: pinOf(2), stored: source.certificates.progress })
  t.match(other.reports, [/configured power table of instance 2 replaces that of instance/])
  await untilCertified(t, other.source, lotus)
})

void t.test('no lie about certificates is believed', { timeout: 190_000 }, async (t) => {
  const lotus = await certifiedChain(t)
  const pin = pinOf((lotus.certifier?.latest ?? 0) - 2)
  const always = { now: () => true, below: () => 0 }
  const weak = lotusFaults['a certificate with too little power']?.make(always)
  const swapped = lotusFaults['a power table that was swapped']?.make(always)
  if (weak === undefined || swapped === undefined) throw new Error('the faults are gone')
  const truth = (instance: number) => {
    const certificate = lotus.certifier?.certificate(instance)
    if (certificate === undefined) throw new Error(`no certificate of instance ${instance}`)
    return certificate
  }
  const otherKey = cidOfBytes(Uint8Array.of(1))
  const elsewhere = (instance: number) => {
    const { chain } = truth(instance)
    const last = instance === lotus.certifier?.latest ? chain.length - 1 : NaN
    return chain.map((tipset, at) => (at === last ? { ...tipset, key: otherKey } : tipset))
  }
  const stranger = new DevCommittee('devnet-2k', 'another seed')
  const signed = (say: (instance: number) => Parameters<typeof certificateForm>[0]): Fault =>
    saying(CERTIFICATES, (instance) => certificateForm(say(instance)), lotus)
  const lies: [string, Fault, RegExp][] = [
    ['too few signers', weak, /signers have \d+ of \d+ parts/],
    ['another power table', swapped, /power table of instance \d+ is not bafy/],
    [
      'signed by too few',
      signed((instance) => committee.certify(truth(instance), truth(instance).signers.slice(1))),
      /signers have/,
    ],
    [
      'signed by others',
      signed((instance) => stranger.certify(truth(instance))),
      /not lead to the power table/,
    ],
    [
      'another chain, signed by nobody',
      signed((instance) => ({ ...truth(instance), chain: elsewhere(instance) })),
      /not that of its signers/,
    ],
    [
      'another chain than the endpoint’s own, signed by all',
      signed((instance) => committee.certify({ instance, chain: elsewhere(instance) })),
      /its tipset at \d+ is not the one that is certified/,
    ],
    [
      'another instance',
      signed((instance) => ({ ...truth(instance), instance: instance + 1 })),
      /of instance/,
    ],
    [
      'a chain without end',
      signed((instance) => ({
        ...truth(instance),
        chain: Array.from({ length: 200 }, () => elsewhere(instance)[0]).flatMap((tipset) => tipset ?? []),
      })),
      /more than 128/,
    ],
    ['nonsense', saying(CERTIFICATES, () => [{ nonsense: true }], lotus), /malformed/],
  ]
  for (const [name, fault, reason] of lies) {
    const proxy = await startProxy(t, lotus.url, fault)
    const { source, reports } = open(t, [proxy.url], { pin })
    await eventually(`${name}: it is refused again and again`, async () => {
      await source.head()
      return reports.length >= 5
    })
    t.equal(source.certified(), null, `${name}: 0 accepted`)
    t.equal(source.certificates.progress, null)
    t.same([...new Set(reports.map((report) => reason.test(report)))], [true], `${name}: ${reports[0]}`)
    const final = lotus.certifier?.finalized.height ?? 0
    t.same(await source.finalized(), { number: final, hash: keyAt(lotus.chain, final) }, 'finality as ever')
    const beside = open(t, [proxy.url, lotus.url], { pin, restMs: 60_000 })
    await untilCertified(t, beside.source, lotus)
  }
})

void t.test('an endpoint without new certificates does not keep those of another away', async (t) => {
  const lotus = await certifiedChain(t)
  const old = lotus.certifier?.certificate(lotus.certifier.latest)
  if (old === undefined) throw new Error('the node certifies nothing')
  for (const said of [certificateForm(old), null]) {
    const stuck = await startProxy(
      t,
      lotus.url,
      saying(['F3GetLatestCertificate'], () => said, lotus),
    )
    const { source } = open(t, [stuck.url, lotus.url], { pin: pinOf(old.instance) })
    await lotus.chain.mine(9)
    await untilCertified(t, source, lotus)
    await lotus.chain.mine(9)
    await untilCertified(t, source, lotus)
  }
})

void t.test('a node without F3 is asked once', async (t) => {
  const lotus = await startChain(t, { seed, finalityEpochs: 5 })
  await lotus.chain.mine(20)
  let asked = 0
  const proxy = await startProxy(t, lotus.url, (requests) => {
    asked += requests.filter(({ method }) => method.startsWith('Filecoin.F3')).length
    return null
  })
  const { source, reports } = open(t, [proxy.url], { restMs: 60_000 })
  for (let look = 0; look < 5; look += 1) {
    await source.head()
    t.equal((await source.finalized())?.number, lotus.chain.head().height - 5)
    await lotus.chain.mine()
  }
  t.equal(asked, 1)
  t.equal(source.certified(), null)
  t.same(reports, [])
})
