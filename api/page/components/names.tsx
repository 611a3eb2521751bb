import type { ComponentChildren } from 'preact'
import { explorerLink, type Explorer } from '../lib/explorer.ts'
import { clip, shorten } from '../lib/format.ts'
import { accountHash, loanHash, marketOf } from '../lib/route.ts'
import { healthOf } from '../lib/status.ts'
import { Copy } from './copy.tsx'
import { OutIcon } from './icons.tsx'

/** Anything long that people compare: the ends are shown, the whole is copied and shown on hover. */
export function Short({ text, what }: { text: string; what: string }) {
  return (
    <span class="name">
      <code title={clip(text, 200)}>{shorten(text)}</code>
      <Copy text={text} what={what} />
    </span>
  )
}

/** An account of either ledger, with a link to its loans. `networkId` finds its block explorer. */
export function Address({
  of,
  networkId,
}: {
  of: string | null | undefined
  networkId?: string | undefined
}) {
  if (of === null || of === undefined || of === '') return <Unknown />
  return (
    <span class="name">
      <a href={accountHash(of)} title={of}>
        <code>{shorten(of)}</code>
      </a>
      <Copy text={of} what="address" />
      <Out networkId={networkId} kind="address" value={of} />
    </span>
  )
}

/** A transaction hash, a message's CID, or a voucher that was signed off-chain. */
export function Hash({
  of,
  networkId,
  isVoucher = false,
}: {
  of: string
  networkId?: string
  isVoucher?: boolean
}) {
  return (
    <span class="name">
      <Short text={of} what={isVoucher ? 'voucher' : 'hash'} />
      {!isVoucher && <Out networkId={networkId} kind="transaction" value={of} />}
    </span>
  )
}

/** A loan's name, with a link to its view. */
export function LoanLink({ loanType, loanId }: { loanType: string; loanId: string }) {
  const market = marketOf(loanType)
  return (
    <a href={loanHash(market, loanId)} class="nowrap">
      {market} loan {shorten(loanId)}
    </a>
  )
}

export function Unknown({ children = 'not known' }: { children?: ComponentChildren }) {
  return <span class="faint">{children}</span>
}

/** A link to the block explorer of the configuration, if it has one. */
function Out({
  networkId,
  kind,
  value,
}: {
  networkId: string | undefined
  kind: keyof Explorer
  value: string
}) {
  const link = explorerLink(networkId === undefined ? null : healthOf(networkId)?.explorer, kind, value)
  if (link === null) return null
  const label = `Show this ${kind} in a block explorer`
  return (
    <a class="quiet" href={link} target="_blank" rel="noopener noreferrer" aria-label={label} title={label}>
      <OutIcon />
    </a>
  )
}
