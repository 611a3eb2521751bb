import { LRUCache } from 'lru-cache'
import type { CertifiedTipset, FinalityCertificate } from '../../../shared/filecoin/f3/certificate.ts'
import { powerTableCid, type PowerTable } from '../../../shared/filecoin/f3/power-table.ts'
import type { DevChain } from '../chain/dev-chain.ts'
import { keyOf, type Tipset } from '../chain/tipset.ts'
import { DevCommittee } from './committee.ts'

const REMEMBERED = 256

/**
 * Certifies what is final on a devnet's chain. Instance `i` decides on the tipsets of the `every` epochs after `i * every`, so
 * nothing needs to be stored.
 */
export class Certifier {
  readonly committee: DevCommittee
  private readonly chain: DevChain
  private readonly every: number
  private readonly made = new LRUCache<number, FinalityCertificate>({ max: REMEMBERED })

  constructor(chain: DevChain, every: number) {
    this.chain = chain
    this.every = every
    this.committee = new DevCommittee(chain.settings.networkName, chain.settings.seed)
  }

  /** The last instance that is decided; -1 while there is none. */
  get latest(): number {
    return Math.max(0, Math.floor((this.chain.head().height - this.chain.finalityEpochs) / this.every)) - 1
  }

  /** The newest tipset that is certified, or the first one. */
  get finalized(): Tipset {
    return this.at((this.latest + 1) * this.every)
  }

  /** Returns undefined for an instance that is not decided. */
  certificate(instance: number): FinalityCertificate | undefined {
    if (instance < 0 || instance > this.latest) return undefined
    const known = this.made.get(instance)
    if (known !== undefined) return known
    const certificate = this.committee.certify({ instance, chain: this.decided(instance) })
    this.made.set(instance, certificate)
    return certificate
  }

  /** Returns undefined for an instance that cannot begin yet. */
  table(instance: number): PowerTable | undefined {
    return instance < 0 || instance > this.latest + 1 ? undefined : this.committee.table(instance)
  }

  private decided(instance: number): CertifiedTipset[] {
    const base = this.at(instance * this.every)
    const tipsets: Tipset[] = []
    let tipset = this.at((instance + 1) * this.every)
    for (; tipset.height > base.height && tipset.parent !== null; tipset = tipset.parent)
      tipsets.unshift(tipset)
    return [base, ...tipsets].map((each) => this.certified(each))
  }

  private certified(tipset: Tipset): CertifiedTipset {
    const instance = Math.max(0, Math.ceil(tipset.height / this.every) - 1)
    return {
      epoch: tipset.height,
      key: keyOf(tipset).join(','),
      powerTable: powerTableCid(this.committee.table(instance)),
      commitments: new Uint8Array(32),
    }
  }

  private at(height: number): Tipset {
    return this.chain.store.atOrBelow(height, this.chain.head())
  }
}
