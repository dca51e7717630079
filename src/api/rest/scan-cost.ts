/** The requests that a read draws from the budget if it may scan a whole collection. */
export const scanRequests = 5
