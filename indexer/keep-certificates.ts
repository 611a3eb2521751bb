import { pause } from '../shared/async/pause.ts'
import type { Db } from '../shared/db/connect.ts'
import { messageOf } from '../shared/errors.ts'
import type { BlockHeader, BlockRef } from '../shared/events/chain-step.ts'
import type { CertificateProgress } from '../shared/filecoin/f3/progress.ts'
import type { Logger } from '../shared/log.ts'
import {
  findCertificates,
  forgetCertificates,
  noteCertified,
  putCertificates,
} from './event-log/certificates.store.ts'
import { findPosition } from './event-log/chain-position.ts'
import type { NetworkHealth } from './network-state.ts'

/** The part of a Filecoin network's source that follows certificates. */
export interface CertifiedSource {
  readonly certificates: {
    begin: (progress: CertificateProgress | null) => void
    readonly progress: CertificateProgress | null
  }
  /** The newest block to index that a certificate proves final; null while none does. */
  certified: () => BlockRef | null
  /** Follows parents from `final` down for at most `maxBlockRange` blocks. An endpoint can invent an older one. */
  finalHeader: (final: BlockRef, number: number) => Promise<BlockHeader>
  readonly maxBlockRange: number
}

interface CertificateRun {
  health: Pick<NetworkHealth, 'network' | 'fail' | 'clear'>
  db: Db
  log: Logger
  signal: AbortSignal
}

const LOOK_MS = 1_000

/**
 * Stores which blocks of the index certificates prove final, beside the reader of a Filecoin network, until `signal` aborts.
 * Never rejects.
 */
export async function keepCertificates(run: CertificateRun, source: CertifiedSource): Promise<void> {
  const { health, log, signal } = run
  const keeper = new Keeper(run, source)
  let failure = ''
  while (!signal.aborted) {
    try {
      await keeper.look()
      failure = ''
    } catch (error) {
      // Nodes and the database have watches of their own, which report that they are away.
      if (messageOf(error) !== failure)
        log.warn({ network: health.network }, `certificates: ${messageOf(error)}`)
      failure = messageOf(error)
    }
    await pause(LOOK_MS, signal)
  }
}

class Keeper {
  readonly #run: CertificateRun
  readonly #source: CertifiedSource
  #isBegun = false
  #kept: CertificateProgress | null = null
  #noted = -1

  constructor(run: CertificateRun, source: CertifiedSource) {
    this.#run = run
    this.#source = source
  }

  async look(): Promise<void> {
    const { db, health } = this.#run
    const { certificates } = this.#source
    if (!this.#isBegun) {
      const stored = await findCertificates(db, health.network)
      certificates.begin(stored)
      // The configured power table is not the stored one.
      if (stored !== null && certificates.progress === null) await forgetCertificates(db, health.network)
      this.#isBegun = true
    }
    const { progress } = certificates
    if (progress !== null && progress !== this.#kept) await putCertificates(db, health.network, progress)
    this.#kept = progress
    const certified = this.#source.certified()
    if (certified !== null && certified.number > this.#noted) await this.#note(certified)
  }

  /** The certified block must be ours. Blocks that are not final yet wait; blocks too far below are left to later certificates. */
  async #note(certified: BlockRef): Promise<void> {
    const { db, health } = this.#run
    const final = (await findPosition(db, health.network))?.finalized ?? null
    if (final === null || final.number < certified.number) return
    if (final.number - certified.number > this.#source.maxBlockRange) return
    const isLast = final.number === certified.number
    const ours = isLast ? final : await this.#source.finalHeader(final, certified.number)
    if (ours.hash !== certified.hash) {
      health.fail(
        'certificates',
        'node',
        `${health.network}: block ${ours.number} is ${ours.hash} here, but ${certified.hash} is certified`,
      )
      return
    }
    await noteCertified(db, health.network, certified.number)
    this.#noted = certified.number
    health.clear('certificates')
  }
}
