/** The network that something handed in is for: named, or the only one. `networks` are keys, such as `filecoin:testnet`. */
export function networkOf(networks: string[], networkId: string | null): string | undefined {
  if (networkId !== null) return networks.find((network) => network === `filecoin:${networkId}`)
  return networks.length === 1 ? networks[0] : undefined
}

/** Why {@link networkOf} finds none. */
export function whichNetwork(networks: string[], networkId: string | null): string {
  const names = networks.map((network) => network.slice(network.indexOf(':') + 1)).join(', ')
  return networkId === null
    ? `it names no network, and there are several: ${names}`
    : `no Filecoin network ${JSON.stringify(networkId)} is configured; there are: ${names}`
}
