import type { CertifiedTipset, FinalityCertificate } from '../../../shared/filecoin/f3/certificate.ts'
import { powerTableCid, type PowerTable } from '../../../shared/filecoin/f3/power-table.ts'
import type { Certifier } from '../f3/certifier.ts'
import { bytesOrNull, link } from './forms.ts'
import { read, type Methods, type Node } from './method.ts'
import * as take from './params.ts'
import { failed } from './rpc-error.ts'

/** Methods of F3. A node without certificates answers as Lotus does where F3 is switched off. */
export const f3Methods: Methods = {
  F3IsRunning: read(0, ({ certifier }) => certifier !== null),
  F3GetManifest: read(0, (node) => {
    const { committee } = running(node)
    return {
      ProtocolVersion: 7,
      InitialInstance: 0,
      BootstrapEpoch: 0,
      NetworkName: committee.network,
      InitialPowerTable: link(powerTableCid(committee.table(0))),
      CommitteeLookback: 1,
    }
  }),
  F3GetLatestCertificate: read(0, (node) => {
    const certifier = running(node)
    // Go writes a missing certificate as null.
    const latest = certifier.certificate(certifier.latest)
    return latest === undefined ? null : certificateForm(latest)
  }),
  F3GetCertificate: read(1, (node, [instance]) => {
    const certificate = running(node).certificate(take.integer(instance))
    if (certificate === undefined) throw failed('getting certificate: unknown instance')
    return certificateForm(certificate)
  }),
  F3GetPowerTableByInstance: read(1, (node, [instance]) => {
    const table = running(node).table(take.integer(instance))
    if (table === undefined) throw failed('getting power table: unknown instance')
    return tableForm(table)
  }),
}

function running({ certifier }: Node): Certifier {
  if (certifier === null) throw failed('f3 is disabled')
  return certifier
}

/** Also what a test asks a lying node to answer. */
export function certificateForm({
  instance,
  chain,
  supplement,
  signers,
  signature,
  deltas,
}: FinalityCertificate) {
  return {
    GPBFTInstance: instance,
    ECChain: chain.map(certifiedForm),
    SupplementalData: { Commitments: supplement.commitments, PowerTable: link(supplement.powerTable) },
    Signers: runsOf(signers),
    Signature: signature,
    PowerTableDelta: deltas.map(({ id, power, key }) => ({
      ParticipantID: id,
      PowerDelta: power.toString(),
      SigningKey: bytesOrNull(key),
    })),
  }
}

function certifiedForm({ epoch, key, powerTable, commitments }: CertifiedTipset) {
  return {
    Key: key.split(',').map(link),
    Commitments: commitments,
    Epoch: epoch,
    PowerTable: link(powerTable),
  }
}

function tableForm(table: PowerTable) {
  return table.map(({ id, power, key }) => ({ ID: id, Power: power.toString(), PubKey: key }))
}

/** Returns the lengths of runs of zeros and ones in turn, zeros first. */
function runsOf(signers: readonly number[]): number[] {
  const runs: number[] = []
  let at = 0
  for (const signer of signers) {
    if (signer === at && runs.length > 0) runs[runs.length - 1] = (runs.at(-1) ?? 0) + 1
    else runs.push(signer - at, 1)
    at = signer + 1
  }
  return runs
}
