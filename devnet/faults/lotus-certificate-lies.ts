import { isJson, sometimes, type FaultKinds } from './fault.ts'
import { isFilled, lying } from './lotus-lying.ts'

/** False answers about F3, which only its signatures and hashes show. */
export const lotusCertificateLies: FaultKinds = {
  'a certificate with too little power': {
    seenBy: 'visible',
    make: sometimes(
      0.2,
      // The strongest participant alone.
      lying(['F3GetLatestCertificate', 'F3GetCertificate'], (result) =>
        isJson(result) ? { ...result, Signers: [0, 1] } : undefined,
      ),
    ),
  },
  'a power table that was swapped': {
    seenBy: 'visible',
    make: sometimes(
      0.2,
      lying(['F3GetPowerTableByInstance'], (result) => {
        if (!isFilled(result) || !result.every(isJson)) return undefined
        const last = result.at(-1)?.['PubKey']
        return result.map((entry, at) => ({ ...entry, PubKey: at === 0 ? last : entry['PubKey'] }))
      }),
    ),
  },
}
