/** Where an answer holds what its creation has revealed: no field of it can have such a key, whatever its alias. */
export function revealedKey(name: string): string {
  return `revealed:${name}`
}
