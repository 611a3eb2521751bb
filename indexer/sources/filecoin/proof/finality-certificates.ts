import { ownTurn } from '../../../../shared/async/turns.ts'
import { messageOf } from '../../../../shared/errors.ts'
import { DecodeError } from '../../../../shared/filecoin/decode-error.ts'
import type { FinalityCertificate } from '../../../../shared/filecoin/f3/certificate.ts'
import { powerTableCid, type PowerTable } from '../../../../shared/filecoin/f3/power-table.ts'
import type { CertificateProgress, PowerTableRef } from '../../../../shared/filecoin/f3/progress.ts'
import { verifyCertificate, type Committee } from '../../../../shared/filecoin/f3/verify-certificate.ts'
import type { RpcClient } from '../../rpc/rpc-client.ts'
import type { RpcEndpoint } from '../../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed } from '../../rpc/rpc-error.ts'
import { record, textOf } from '../decode-json.ts'
import { decodeTipset } from '../decode-tipset.ts'
import { lotusCall } from '../lotus-call.ts'
import { decodeCertificate, decodePowerTable } from './decode-certificate.ts'

/** Certificates that are verified after one look at the head. */
const MOST_AT_ONCE = 8
/** An endpoint without F3 is asked again after this time. */
const UNSUPPORTED_MS = 600_000
/** The same after a failure. A certificate that proves nothing costs up to a second of processor. */
const FAILED_MS = 60_000

/** What is known before the next certificate, and the table that is trusted. */
interface Known {
  committee: Committee
  pinned: PowerTableRef
}

/**
 * Verifies the certificates of F3, in order, against a power table that is pinned once. Asks beside the reading of the chain:
 * whatever an endpoint answers, the head and the node's word about finality are read as without certificates.
 */
export class FinalityCertificates {
  readonly #rpc: RpcClient
  readonly #pin: PowerTableRef | null
  readonly #restMs: number
  readonly #restUntilMs = new WeakMap<RpcEndpoint, number>()
  /** Endpoints that had no new certificate. The others are asked before these are asked again. */
  readonly #hadNoneNew = new Set<RpcEndpoint>()
  #progress: CertificateProgress | null = null
  /** The table of `#progress.next`; null after a restart. */
  #table: PowerTable | null = null
  #isOn = false
  #isAsking = false

  /** `pin` is the configured table; null: the first node's. `restMs` replaces all times of rest, for tests. */
  constructor(rpc: RpcClient, pin: PowerTableRef | null, restMs?: number) {
    this.#rpc = rpc
    this.#pin = pin
    this.#restMs = restMs ?? Infinity
  }

  /** Begins to follow certificates, where an earlier process stopped. */
  begin(progress: CertificateProgress | null): void {
    this.#isOn = true
    const pinned = progress?.pinned
    const isOurs = this.#pin === null || (pinned !== undefined && sameTable(pinned, this.#pin))
    this.#progress = isOurs ? progress : null
    this.#table = null
    if (isOurs || pinned === undefined) return
    this.#rpc.say(
      `the configured power table of instance ${this.#pin.instance} replaces that of instance ${pinned.instance}`,
    )
  }

  /** Null before the first verified certificate. */
  get progress(): CertificateProgress | null {
    return this.#progress
  }

  /** Asks an endpoint for new certificates. Returns at once. */
  follow(): void {
    const all = this.#rpc.others()
    const now = performance.now()
    const rested = all.filter((endpoint) => now >= (this.#restUntilMs.get(endpoint) ?? 0))
    if (!this.#isOn || this.#isAsking || rested.length === 0) return
    if (rested.every((endpoint) => this.#hadNoneNew.has(endpoint))) this.#hadNoneNew.clear()
    const excluding = all.filter((endpoint) => !rested.includes(endpoint) || this.#hadNoneNew.has(endpoint))
    this.#isAsking = true
    void this.#rpc
      .read('finality certificates', (endpoint) => this.#ask(endpoint), { attempts: 1, excluding })
      // The other endpoints may be put aside.
      .catch(() => this.#hadNoneNew.clear())
      .finally(() => {
        this.#isAsking = false
      })
  }

  /** Whatever is wrong with its certificates, the endpoint stays in use for the chain. */
  async #ask(endpoint: RpcEndpoint): Promise<void> {
    try {
      await this.#advance(endpoint)
    } catch (error) {
      const isUnsupported = error instanceof CallFailed && error.kind === 'unsupported'
      const restMs = Math.min(this.#restMs, isUnsupported ? UNSUPPORTED_MS : FAILED_MS)
      this.#restUntilMs.set(endpoint, performance.now() + restMs)
      if (!(error instanceof DecodeError || error instanceof BadAnswer)) throw error
      this.#rpc.noteDisagreement(endpoint)
      this.#rpc.say(`${endpoint.label} has a finality certificate that proves nothing: ${messageOf(error)}`)
      throw new CallFailed(messageOf(error), 'other')
    }
  }

  async #advance(endpoint: RpcEndpoint): Promise<void> {
    const answer = await ask(endpoint, 'F3GetLatestCertificate')
    const latest = answer === null ? null : decodeCertificate(answer)
    if (latest === null || latest.instance < (this.#progress?.next.instance ?? 0)) {
      this.#hadNoneNew.add(endpoint)
      return
    }
    const { committee: before, pinned } = await this.#known(endpoint, latest)
    let committee = before
    for (const certificate of await certificatesUpTo(endpoint, committee.instance, latest))
      committee = await verifyCertificate(certificate, committee, ownTurn)
    const { network, instance, table, base } = committee
    if (base === null || instance === before.instance) return
    const head = { epoch: base.epoch, key: base.key }
    await checkBranch(endpoint, head)
    if (this.#progress === null && this.#pin === null) this.#sayPinned(endpoint, pinned)
    this.#table = table
    this.#progress = { network, pinned, next: { instance, powerTable: powerTableCid(table) }, head }
  }

  async #known(endpoint: RpcEndpoint, latest: FinalityCertificate): Promise<Known> {
    if (this.#progress !== null) {
      const { network, pinned, next, head } = this.#progress
      const table = this.#table ?? (await namedTable(endpoint, next))
      return { pinned, committee: { network, instance: next.instance, table, base: head } }
    }
    const manifest = record(await ask(endpoint, 'F3GetManifest'), 'manifest')
    const network = textOf(manifest['NetworkName'], 'name of the network')
    const instance = this.#pin?.instance ?? latest.instance
    const table =
      this.#pin === null ? await tableOf(endpoint, instance) : await namedTable(endpoint, this.#pin)
    const pinned = { instance, powerTable: powerTableCid(table) }
    return { pinned, committee: { network, instance, table, base: null } }
  }

  #sayPinned({ label }: RpcEndpoint, { instance, powerTable }: PowerTableRef): void {
    this.#rpc.say(
      `the power table ${powerTable} of instance ${instance} is trusted on the word of ${label}; "certificates" in the configuration pins one that you trust`,
    )
  }
}

function sameTable(one: PowerTableRef, other: PowerTableRef): boolean {
  return one.instance === other.instance && one.powerTable === other.powerTable
}

function ask(endpoint: RpcEndpoint, name: string, ...params: unknown[]): Promise<unknown> {
  const call = lotusCall(name, ...params)
  return endpoint.call(call.method, call.params)
}

async function tableOf(endpoint: RpcEndpoint, instance: number): Promise<PowerTable> {
  return decodePowerTable(await ask(endpoint, 'F3GetPowerTableByInstance', instance))
}

async function namedTable(
  endpoint: RpcEndpoint,
  { instance, powerTable }: PowerTableRef,
): Promise<PowerTable> {
  const table = await tableOf(endpoint, instance)
  if (powerTableCid(table) === powerTable) return table
  throw new BadAnswer(`its power table of instance ${instance} is not ${powerTable}`)
}

/** Returns the certificates of `first` and the next instances, as many as are verified at once. */
async function certificatesUpTo(
  endpoint: RpcEndpoint,
  first: number,
  latest: FinalityCertificate,
): Promise<FinalityCertificate[]> {
  const last = Math.min(latest.instance, first + MOST_AT_ONCE - 1)
  const wanted = Array.from({ length: last - first + 1 }, (_, at) => first + at)
  const missing = wanted.filter((instance) => instance !== latest.instance)
  const answers = await endpoint.send(missing.map((instance) => lotusCall('F3GetCertificate', instance)))
  const earlier = answers.map((answer) => decodeCertificate(endpoint.resultOf('F3GetCertificate', answer)))
  return missing.length === wanted.length ? earlier : [...earlier, latest]
}

/** An endpoint that follows another branch than its certificates would make the index contradict them. */
async function checkBranch(
  endpoint: RpcEndpoint,
  { epoch, key }: { epoch: number; key: string },
): Promise<void> {
  const tipset = decodeTipset(await ask(endpoint, 'ChainGetTipSetByHeight', epoch, []))
  if (tipset.key !== key) throw new BadAnswer(`its tipset at ${epoch} is not the one that is certified`)
}
