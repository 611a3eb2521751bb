import { bls12_381 } from '@noble/curves/bls12-381.js'
import { DecodeError } from '../decode-error.ts'
import { BLS_DOMAIN } from '../verify-signature.ts'
import { aggregateKey } from './bdn.ts'
import { payloadToSign, type CertifiedTipset, type FinalityCertificate } from './certificate.ts'
import { changedTable, powerTableCid, scaledPowers, type PowerTable } from './power-table.ts'

/** What is known before a certificate is verified. */
export interface Committee {
  /** The network's name in the manifest of F3. */
  network: string
  instance: number
  table: PowerTable
  /** The last tipset that is final; null if not known. */
  base: Pick<CertifiedTipset, 'epoch' | 'key'> | null
}

const SIGNATURE_BYTES = 96

/**
 * Verifies that two thirds of the committee's power signed the certificate, and that its changes lead to the power table
 * that they signed. Returns the next committee. Calls `turn` between parts of some 40 ms. Throws a DecodeError with the
 * reason why the certificate proves nothing.
 */
export async function verifyCertificate(
  certificate: FinalityCertificate,
  committee: Committee,
  turn: () => Promise<void> = () => Promise.resolve(),
): Promise<Committee> {
  const { network, instance, table, base } = committee
  if (certificate.instance !== instance) throw new DecodeError(`it is of instance ${certificate.instance}`)
  const { chain, supplement, deltas } = certificate
  checkChain(chain, base)
  checkPower(certificate.signers, table)
  const next = changedTable(table, deltas)
  if (powerTableCid(next) !== supplement.powerTable)
    throw new DecodeError(`its changes do not lead to the power table ${supplement.powerTable}`)
  await checkSignature(certificate, committee, turn)
  return { network, instance: instance + 1, table: next, base: chain.at(-1) ?? null }
}

function checkChain(chain: readonly CertifiedTipset[], base: Committee['base']): void {
  const [first] = chain
  if (first === undefined) throw new DecodeError('it has no tipset')
  if (base !== null && (first.epoch !== base.epoch || first.key !== base.key))
    throw new DecodeError(`it continues the tipset at ${first.epoch}, not that at ${base.epoch}`)
  if (chain.some(({ epoch }, at) => epoch <= (chain[at - 1]?.epoch ?? -1)))
    throw new DecodeError('its tipsets are not in order')
}

/** The same rule as go-f3: two thirds of the scaled power, rounded up. */
function checkPower(signers: readonly number[], table: PowerTable): void {
  const powers = scaledPowers(table)
  const total = powers.reduce((sum, power) => sum + power, 0)
  let signed = 0
  let last = -1
  for (const signer of signers) {
    const power = powers[signer]
    if (power === undefined || signer <= last) throw new DecodeError(`no participant ${signer} to sign`)
    if (power === 0) throw new DecodeError(`participant ${signer} has too little power to sign`)
    signed += power
    last = signer
  }
  if (signed === 0 || 3 * signed < 2 * total)
    throw new DecodeError(`its signers have ${signed} of ${total} parts of the power`)
}

async function checkSignature(
  certificate: FinalityCertificate,
  { network, table }: Committee,
  turn: () => Promise<void>,
): Promise<void> {
  const key = await aggregateKey(
    table.map((entry) => entry.key),
    certificate.signers,
    turn,
  )
  await turn()
  const bls = bls12_381.longSignatures
  const message = bls.hash(payloadToSign(network, certificate), BLS_DOMAIN)
  try {
    const { signature } = certificate
    if (signature.length === SIGNATURE_BYTES && bls.verify(bls.Signature.fromBytes(signature), message, key))
      return
  } catch (error) {
    throw new DecodeError('its signature is no point of the curve', { cause: error })
  }
  throw new DecodeError('its signature is not that of its signers')
}
