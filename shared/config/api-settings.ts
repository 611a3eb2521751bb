import { isIP } from 'node:net'
import * as z from 'zod'

/** Formats of the variables for the API's load limits. */

export interface RateLimit {
  requests: number
  windowMs: number
}

const SECOND_MS = { s: 1000, m: 60_000, h: 3_600_000 }

/** `6000/60s`, also with minutes (`m`) or hours (`h`); `off` becomes null. */
export const rateLimitSchema = z.string().transform((text, context): RateLimit | null => {
  if (text === 'off') return null
  const [, requests = '', length = '', unit = ''] = /^([1-9]\d{0,8})\/([1-9]\d{0,4})([smh])$/.exec(text) ?? []
  if (requests !== '') {
    return {
      requests: Number(requests),
      windowMs: Number(length) * SECOND_MS[unit as keyof typeof SECOND_MS],
    }
  }
  context.addIssue({ code: 'custom', message: 'must be requests and a window, as in 6000/60s, or off' })
  return z.NEVER
})

const listOf = (text: string): string[] => text.split(',').map((item) => item.trim())

/** `*`, or a comma-separated list of origins as a browser sends them. */
export const corsOriginsSchema = z.string().transform((text, context): '*' | string[] => {
  if (text === '*') return '*'
  const origins = listOf(text)
  if (
    origins.every(
      (origin) => /^https?:[^*]+$/.test(origin) && URL.canParse(origin) && new URL(origin).origin === origin,
    )
  ) {
    return origins
  }
  context.addIssue({
    code: 'custom',
    message: 'must be * or origins with commas between, as in https://dapp.example',
  })
  return z.NEVER
})

/** Bits of the longest prefix, by IP version. */
const ADDRESS_BITS = { 0: 0, 4: 32, 6: 128 }

function isAddressOrCidr(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const bits = ADDRESS_BITS[isIP(address) as keyof typeof ADDRESS_BITS]
  if (bits === 0 || rest.length > 0) return false
  return prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
}

/** `off` (an empty list), or comma-separated addresses and CIDRs. */
export const trustProxySchema = z.string().transform((text, context): string[] => {
  if (text === 'off') return []
  const proxies = listOf(text)
  if (proxies.every(isAddressOrCidr)) return proxies
  context.addIssue({
    code: 'custom',
    message: 'must be off, or addresses or CIDRs of proxies with commas between, as in 10.0.0.0/8,::1',
  })
  return z.NEVER
})
