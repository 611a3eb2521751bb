/** Tells what a searched text can be, from its form alone. Pure. */

export type Guess =
  | { kind: 'loan'; loanId: string }
  | { kind: 'record'; id: string }
  | { kind: 'account'; account: string }
  | { kind: 'channel'; channel: string }
  | { kind: 'hash'; txHash: string; isVoucher: boolean }

/** Every reading of the text, the likeliest first; empty if it has the form of nothing. */
export function guess(text: string): Guess[] {
  const typed = text.trim()
  const plain = typed.replace(/^#/, '')
  if (/^\d{1,78}$/.test(plain)) {
    const loanId = plain.replace(/^0+(?=\d)/, '')
    const isRecord = BigInt(loanId) <= BigInt(Number.MAX_SAFE_INTEGER) && loanId !== '0'
    return [{ kind: 'loan', loanId }, ...(isRecord ? [{ kind: 'record', id: loanId } as const] : [])]
  }
  if (/^[A-Za-z][A-Za-z0-9]{0,15}-\d{1,78}$/.test(plain)) return [{ kind: 'loan', loanId: plain }]
  if (/^0x[0-9a-f]{40}$/i.test(plain)) return [{ kind: 'account', account: plain.replace(/^0X/, '0x') }]
  if (/^(0x)?[0-9a-f]{64}$/i.test(plain))
    return [{ kind: 'hash', txHash: `0x${plain.slice(-64).toLowerCase()}`, isVoucher: false }]
  // Actors of the chain have class 2 addresses or IDs, and people have the others, or IDs.
  if (/^[ft]0\d{1,20}$|^[ft]4\d+f[a-z2-7]+$|^[ft][1-3][a-z2-7]{38,84}$/.test(plain)) {
    const channel = { kind: 'channel', channel: plain } as const
    const account = { kind: 'account', account: plain } as const
    return /^.2/.test(plain) ? [channel, account] : /^.0/.test(plain) ? [account, channel] : [account]
  }
  if (/^b[a-z2-7]{20,}$/.test(plain)) return [{ kind: 'hash', txHash: plain, isVoucher: false }]
  if (/^[A-Za-z0-9+/_-]{40,}={0,2}$/.test(typed)) {
    const standard = typed.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
    const padded = standard.padEnd(Math.ceil(standard.length / 4) * 4, '=')
    return [{ kind: 'hash', txHash: padded, isVoucher: true }]
  }
  return []
}

/** Describes in words the thing that a reading looks for. */
export function guessWords(one: Guess): string {
  switch (one.kind) {
    case 'loan':
      return `a loan numbered ${one.loanId}, in both markets`
    case 'record':
      return `a record with the id ${one.id}`
    case 'account':
      return 'an account with this address'
    case 'channel':
      return 'a payment channel with this address'
    case 'hash':
      return one.isVoucher ? 'records of this voucher' : 'records of this transaction or message'
  }
}
