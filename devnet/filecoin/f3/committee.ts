import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bdnFactors } from '../../../shared/filecoin/f3/bdn.ts'
import { payloadToSign, type FinalityCertificate } from '../../../shared/filecoin/f3/certificate.ts'
import {
  powerTableCid,
  scaledPowers,
  sortedTable,
  type PowerDelta,
  type PowerTable,
} from '../../../shared/filecoin/f3/power-table.ts'
import { privateKeyOf, signBls } from '../keys.ts'
import { encodeUtf8 } from '../vm/utf8.ts'

/** What participants sign, and the power table that follows. */
export type Decision = Pick<FinalityCertificate, 'instance' | 'chain'>

const { ORDER } = bls12_381.fields.Fr
const FIRST_ID = 1000
const PARTICIPANTS = 5
const TIB = 1n << 40n
const NOTHING = new Uint8Array(32)

/** The participants of F3 on a devnet, whose keys follow from a seed. Powers change, and one leaves and comes back. */
export class DevCommittee {
  readonly network: string
  private readonly secrets: readonly Uint8Array[]
  private readonly keys: readonly Uint8Array[]

  constructor(network: string, seed: string) {
    this.network = network
    this.secrets = Array.from({ length: PARTICIPANTS }, (_, at) =>
      privateKeyOf(encodeUtf8(`${seed}/f3/${at}`), ORDER),
    )
    this.keys = this.secrets.map((secret) => bls12_381.longSignatures.getPublicKey(secret).toBytes(true))
  }

  /** Returns the power table with which an instance is decided. */
  table(instance: number): PowerTable {
    const entries = this.keys.map((key, at) => ({
      id: FIRST_ID + at,
      power: BigInt(10 - at + ((instance + at) % 3)) * TIB,
      key,
    }))
    return sortedTable(entries.slice(0, instance % 4 === 3 ? -1 : undefined))
  }

  /** Signs a decision. `signers` are places in the table: as many as are needed if missing. */
  certify({ instance, chain }: Decision, signers?: readonly number[]): FinalityCertificate {
    const [table, next] = [this.table(instance), this.table(instance + 1)]
    const unsigned: FinalityCertificate = {
      instance,
      chain,
      supplement: { commitments: NOTHING, powerTable: powerTableCid(next) },
      signers: signers ?? quorum(table),
      signature: NOTHING,
      deltas: deltasBetween(table, next),
    }
    return { ...unsigned, signature: this.sign(unsigned, table) }
  }

  /** The sum of the signatures is the signature of the sum of the keys. */
  private sign(certificate: FinalityCertificate, table: PowerTable): Uint8Array {
    const factors = bdnFactors(table.map(({ key }) => key))
    const sum = certificate.signers.reduce((total, signer) => {
      const secret = this.secrets[(table[signer]?.id ?? FIRST_ID) - FIRST_ID]
      return total + (factors[signer] ?? 0n) * BigInt(`0x${Buffer.from(secret ?? []).toString('hex')}`)
    }, 0n)
    const key = new Uint8Array(Buffer.from((sum % ORDER).toString(16).padStart(64, '0'), 'hex'))
    return signBls(payloadToSign(this.network, certificate), key).data
  }
}

/** Returns the strongest participants that have two thirds of the power. */
function quorum(table: PowerTable): number[] {
  const powers = scaledPowers(table)
  const total = powers.reduce((sum, power) => sum + power, 0)
  const signers: number[] = []
  for (let at = 0, signed = 0; 3 * signed < 2 * total; at += 1) {
    signers.push(at)
    signed += powers[at] ?? 0
  }
  return signers
}

function deltasBetween(table: PowerTable, next: PowerTable): PowerDelta[] {
  const none = new Uint8Array()
  const ids = [...new Set([...table, ...next].map(({ id }) => id))].sort((one, other) => one - other)
  return ids.flatMap((id) => {
    const [before, after] = [table, next].map((entries) => entries.find((entry) => entry.id === id))
    const power = (after?.power ?? 0n) - (before?.power ?? 0n)
    if (power === 0n) return []
    return { id, power, key: before === undefined ? (after?.key ?? none) : none }
  })
}
