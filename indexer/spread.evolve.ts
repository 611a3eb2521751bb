/** One role of all networks: the processes that could have each, and those that have it. */
export interface Spread {
  /** Live processes, each with the networks that it can take. */
  processes: ReadonlyMap<string, ReadonlySet<string>>
  /** The process that has each network now; it need not be one of `processes`. */
  holders: ReadonlyMap<string, string>
}

/**
 * (pure) The process that should have each network: loads differ by one at most where all processes can take all networks, and
 * as few networks move as can be. Given its own result, it moves nothing. Where the load decides nothing, a network goes to the
 * process that has it in `paired`.
 */
export function shareNetworks(
  { processes, holders }: Spread,
  paired: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const ids = [...processes.keys()].sort()
  const networks = [...new Set([...processes.values()].flatMap((own) => [...own]))].sort()
  const shares = new Map(holders)
  const load = (id: string): number => networks.filter((network) => shares.get(network) === id).length
  const isPaired = (network: string, id: string): number => (paired.get(network) === id ? 1 : 0)

  for (const network of networks) {
    if (shares.has(network)) continue
    const [best] = ids
      .filter((id) => processes.get(id)?.has(network))
      .sort((a, b) => load(a) - load(b) || isPaired(network, b) - isPaired(network, a))
    if (best !== undefined) shares.set(network, best)
  }

  const findMove = (): { network: string; to: string } | undefined => {
    const byLoad = [...ids].sort((a, b) => load(a) - load(b))
    for (const to of byLoad)
      for (const from of [...byLoad].reverse()) {
        if (load(from) - load(to) < 2) break
        const [network] = networks
          .filter((one) => shares.get(one) === from && processes.get(to)?.has(one))
          .sort((a, b) => isPaired(b, to) - isPaired(a, to) || isPaired(a, from) - isPaired(b, from))
        if (network !== undefined) return { network, to }
      }
    return undefined
  }
  // Each move makes the loads more equal, so this ends.
  for (let move = findMove(); move !== undefined; move = findMove()) shares.set(move.network, move.to)
  return shares
}
