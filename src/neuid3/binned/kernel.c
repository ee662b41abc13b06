/* Growth of trees over coded columns, and their application to rows.

   Compiled by hatch_build.py when the package is built, once for each variant of a processor. `grower.py` grows the same
   trees in numpy. A call uses memory of its own, so that several threads may grow trees over one table. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FACT, CATEGORY, NUMBER, DISTRIBUTION };         /* kinds of columns */
enum { ENTROPY, GINI, SQUARED_ERROR, NEWTON };         /* criteria */
#define COPIES 4          /* histograms that rows take turns in, where a histogram is small: additions need not wait */
#define SMALL 64          /* numbers in such a histogram */
#define LOGARITHMS 4096   /* entries of the table of x log x, for masses that are integers */
#define TOLERANCE 1e-12   /* gains that differ by less, relatively, are equal: the first candidate is kept */
#define PURE 1e-9         /* fraction of the mass below which a class is absent */
#define POSITIONAL 1e16   /* from here on numbers have no digits after the point */

/* Coded columns; the fields of `TableFields` in kernel.py, in this order. */
typedef struct {
    int64_t rows, columns;
    const void *const *codes;   /* of a column, (row,); of a distribution, probabilities (value, row) */
    const uint8_t *kinds;
    const uint8_t *bytes;       /* of a code: 1 or 2 */
    const int32_t *sizes;       /* number of codes; a missing entry has this number as its code */
    const int64_t *offsets;     /* where a column begins in the arrays below */
    const double *prior;        /* probability of each code */
    const double *below;        /* probability of all codes up to each code */
    const double *lows, *highs; /* least and largest number with each code */
    const uint8_t *exact;       /* whether each code of a column is one number */
    const uint8_t *missing;     /* whether a column has missing entries */
} Table;

/* Targets of all rows; the fields of `TargetFields`. */
typedef struct {
    int64_t criterion, width;      /* number of statistics of a node: classes, 3, or 1 + 2 * scores for gradients */
    const int32_t *classes;        /* for entropy and Gini impurity */
    const double *first, *second;  /* y and y², or gradients and hessians, (row, score) */
    const double *weights;
} Target;

/* Limits of growth; the fields of `SettingFields`. */
typedef struct {
    int64_t max_depth, max_splits; /* negative for no limit; a limit of splits makes growth best-first */
    double min_mass, min_child_mass, min_gain, min_reach, min_hessian, l2;
    int64_t candidates;            /* columns that are tried at a node */
    int64_t allowed;               /* columns that may be tried */
    const int32_t *columns;        /* which these are */
    uint64_t seed;
} Settings;

/* A grown tree; the fields of `NodeFields`. A leaf has column -1. */
typedef struct {
    int64_t count, capacity, width;
    int32_t *column, *code, *yes, *no, *parent;
    double *threshold, *gain, *fraction, *statistics;
} Nodes;

typedef struct { /* a split of a node */
    int32_t column, code;
    double threshold, gain, fraction; /* gain of the whole node, not per unit of mass */
} Split;

typedef struct { /* a node that will be split */
    int64_t node, rows, depth;
    int32_t *row;
    double *weight;
    uint64_t id;
    Split split;
} Open;

typedef struct { /* memory of one call */
    const Table *table;
    const Target *target;
    const Settings *settings;
    Nodes *nodes;
    Open *open;
    int64_t open_count, open_capacity, splits;
    int32_t *order, *swaps, *class_of;
    double *first, *second; /* weighted targets of the node's rows */
    double *histogram, *left, *right, *total, *absent, *logarithms, *share;
    uint64_t *touched;
    uint8_t *remaining;
    int failed;
} Grower;

/* Random numbers: splitmix64, a stream of its own for each node ------------------------------------------------------ */

static uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
static int64_t draw(uint64_t *state, int64_t below) {
    *state = mixed(*state);
    return (int64_t)(((*state >> 32) * (uint64_t)below) >> 32);
}

/* Criteria ----------------------------------------------------------------------------------------------------------- */

static double x_log_x(const Grower *g, double x) {
    if (x <= 0) return 0;
    const int64_t whole = (int64_t)x;
    return x < LOGARITHMS && (double)whole == x ? g->logarithms[whole] : x * log2(x);
}

static double mass_of(const Target *t, const double *s) {
    if (t->criterion >= SQUARED_ERROR) return s[0];
    double mass = 0;
    for (int64_t k = 0; k < t->width; k++) mass += s[k];
    return mass;
}

static int64_t scores_of(const Target *t) { /* numbers of a row in `first` and in `second` */
    return t->criterion < SQUARED_ERROR ? 0 : (t->width - 1) / 2;
}

/* What splits increase; the gain of a split is that of both children less that of the node. */
static double purity(const Grower *g, const double *s) {
    const Target *t = g->target;
    const double mass = mass_of(t, s);
    double sum = 0;
    switch (t->criterion) {
    case ENTROPY:
        for (int64_t k = 0; k < t->width; k++) sum += x_log_x(g, s[k]);
        return sum - x_log_x(g, mass);
    case GINI:
        for (int64_t k = 0; k < t->width; k++) sum += s[k] * s[k];
        return mass > 0 ? sum / mass : 0;
    case SQUARED_ERROR: return mass > 0 ? s[1] * s[1] / mass : 0;
    default:
        for (int64_t k = 1, n = scores_of(t); k <= n; k++) {
            const double curvature = s[n + k] + g->settings->l2;
            if (curvature > 0) sum += s[k] * s[k] / curvature;
        }
        return sum;
    }
}

static int is_pure(const Target *t, const double *s) {
    if (t->criterion == NEWTON) return 0;
    const double mass = mass_of(t, s);
    if (t->criterion == SQUARED_ERROR) return s[2] - s[1] * s[1] / (mass > 0 ? mass : 1) <= PURE * PURE * s[2];
    int present = 0;
    for (int64_t k = 0; k < t->width; k++) present += s[k] > PURE * mass;
    return present <= 1;
}

static int is_large(const Grower *g, const double *s) {
    if (mass_of(g->target, s) < g->settings->min_child_mass) return 0;
    if (g->target->criterion != NEWTON) return 1;
    double sum = 0;
    for (int64_t k = 1, n = scores_of(g->target); k <= n; k++) sum += s[n + k];
    return sum >= g->settings->min_hessian;
}

static void add(const Grower *g, double *sums, int32_t row, double weight) {
    const Target *t = g->target;
    if (t->criterion < SQUARED_ERROR) {
        sums[t->classes[row]] += weight;
    } else {
        const int64_t n = scores_of(t);
        sums[0] += weight;
        for (int64_t k = 0; k < n; k++) {
            sums[1 + k] += weight * t->first[row * n + k];
            sums[1 + n + k] += weight * t->second[row * n + k];
        }
    }
}

/* Thresholds --------------------------------------------------------------------------------------------------------- */

static double middle_of(double low, double high) {
    const double middle = low / 2 + high / 2;
    return low <= middle && middle < high ? middle : low;
}

static double rounded(double number, int decimals) {
    char text[400];
    snprintf(text, sizeof text, "%.*f", decimals, number);
    return strtod(text, NULL);
}

/* The number with the fewest decimal places in [low, high), near the middle; `shortest_cut` of learning/cuts.py. */
double shortest_cut(double low, double high) {
    const double middle = middle_of(low, high), largest = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
    if (largest >= POSITIONAL) return middle;
    for (int decimals = 1; decimals < 330; decimals++) {
        const double near[3] = {middle, low, high};
        for (int i = 0; i < 3; i++) {
            const double cut = rounded(near[i], decimals);
            if (low <= cut && cut < high) return cut + 0.0;
        }
    }
    return low;
}

/* Missing entries: what the path leaves possible of a column --------------------------------------------------------- */

/* The part of the prior below and above which the path has excluded, of a number column. */
static void interval(const Grower *g, int64_t node, int32_t column, double *low, double *high) {
    const double *below = g->table->below + g->table->offsets[column];
    *low = 0, *high = 1;
    for (int64_t child = node, n = g->nodes->parent[node]; n >= 0; child = n, n = g->nodes->parent[n]) {
        if (g->nodes->column[n] != column) continue;
        const double at = below[g->nodes->code[n]];
        if (g->nodes->yes[n] == child) *high = at < *high ? at : *high;
        else *low = at > *low ? at : *low;
    }
}

/* Mask of the values that the path leaves possible; returns how many these are. */
static int32_t possible_values(Grower *g, int64_t node, int32_t column) {
    const int32_t size = g->table->sizes[column];
    memset(g->remaining, 1, size);
    int32_t count = size;
    for (int64_t child = node, n = g->nodes->parent[node]; n >= 0; child = n, n = g->nodes->parent[n]) {
        if (g->nodes->column[n] != column) continue;
        const int32_t value = g->nodes->code[n];
        if (g->nodes->yes[n] == child)
            for (int32_t v = 0; v < size; v++) g->remaining[v] = g->remaining[v] && v == value;
        else g->remaining[value] = 0;
    }
    count = 0;
    for (int32_t v = 0; v < size; v++) count += g->remaining[v];
    return count;
}

static double clipped(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static double part_below(double below, double low, double high) {
    return clipped((below - low) / (high - low > 1e-300 ? high - low : 1e-300));
}

/* The largest code whose numbers are all at most a threshold. */
static int32_t code_at(const Table *t, int32_t column, double threshold, int32_t low, int32_t high) {
    const double *highs = t->highs + t->offsets[column];
    while (low < high) {
        const int32_t between = (low + high + 1) / 2;
        if (highs[between] <= threshold) low = between;
        else high = between - 1;
    }
    return low;
}

/* Scores ------------------------------------------------------------------------------------------------------------- */

#define ACCUMULATE(CODE)                                                                                               \
    {                                                                                                                  \
        const CODE *codes = t->codes[column];                                                                          \
        if (classes) {                                                                                                 \
            for (int64_t i = 0; i < rows; i++) {                                                                       \
                const uint32_t c = codes[row[i]];                                                                      \
                g->touched[c >> 6] |= (uint64_t)1 << (c & 63);                                                         \
                h[(i % copies) * step + c * width + g->class_of[i]] += weight[i];                                      \
            }                                                                                                          \
        } else if (width > 3) {                                                                                        \
            for (int64_t i = 0; i < rows; i++) {                                                                       \
                const uint32_t c = codes[row[i]];                                                                      \
                double *cell = h + (i % copies) * step + c * width;                                                    \
                const double *first = g->first + i * n, *second = g->second + i * n;                                   \
                g->touched[c >> 6] |= (uint64_t)1 << (c & 63);                                                         \
                cell[0] += weight[i];                                                                                  \
                for (int64_t k = 0; k < n; k++) cell[1 + k] += first[k], cell[1 + n + k] += second[k];                 \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < rows; i++) {                                                                       \
                const uint32_t c = codes[row[i]];                                                                      \
                double *cell = h + (i % copies) * step + c * 3;                                                        \
                g->touched[c >> 6] |= (uint64_t)1 << (c & 63);                                                         \
                cell[0] += weight[i], cell[1] += g->first[i], cell[2] += g->second[i];                                 \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Statistics by code, of the rows of a node; `touched` has a bit for each code that occurs. */
static void fill_histogram(Grower *g, int32_t column, const int32_t *row, const double *weight, int64_t rows) {
    const Table *t = g->table;
    const int64_t width = g->target->width, step = (t->sizes[column] + 1) * width;
    const int classes = g->target->criterion < SQUARED_ERROR;
    const int64_t n = scores_of(g->target);
    double *h = g->histogram;
    if (step <= SMALL) {
        const unsigned copies = COPIES;
        if (t->bytes[column] == 1) ACCUMULATE(uint8_t) else ACCUMULATE(uint16_t)
        for (unsigned copy = 1; copy < COPIES; copy++)
            for (int64_t i = 0; i < step; i++) h[i] += h[copy * step + i], h[copy * step + i] = 0;
    } else {
        const unsigned copies = 1;
        if (t->bytes[column] == 1) ACCUMULATE(uint8_t) else ACCUMULATE(uint16_t)
    }
}

static int32_t next_code(const uint64_t *touched, int32_t code, int32_t end) { /* the first at least `code`, or `end` */
    while (code < end) {
        const uint64_t word = touched[code >> 6] >> (code & 63);
        if (word) {
            code += __builtin_ctzll(word);
            return code < end ? code : end;
        }
        code = (code & ~63) + 64;
    }
    return end;
}

/* Whether the sums in `left` for yes make the best split so far; they become those of yes with the missing entries. */
static int is_better(Grower *g, const double *yes, double fraction, double before, double best) {
    const int64_t width = g->target->width;
    double l[3], r[3], *left = width > 3 ? g->share : l, *right = width > 3 ? g->right : r;
    for (int64_t k = 0; k < width; k++) {
        left[k] = yes[k] + fraction * g->absent[k];
        const double rest = g->total[k] - left[k];
        right[k] = g->target->criterion < SQUARED_ERROR && rest < 0 ? 0 : rest;
    }
    if (!is_large(g, left) || !is_large(g, right)) return 0;
    const double gain = purity(g, left) + purity(g, right) - before;
    if (!(gain > best + TOLERANCE * fabs(before))) return 0;
    g->left[width] = gain; /* the caller reads it */
    return 1;
}

static void score_number(Grower *g, int64_t node, int32_t column, double before, Split *best) {
    const Table *t = g->table;
    const int64_t width = g->target->width, offset = t->offsets[column];
    const int32_t size = t->sizes[column];
    double low = 0, high = 1;
    if (t->missing[column]) interval(g, node, column, &low, &high);
    memset(g->left, 0, width * sizeof(double));
    const Split previous = *best;
    int32_t code = next_code(g->touched, 0, size), found = -1, above = -1;
    while (code < size) {
        const int32_t next = next_code(g->touched, code + 1, size);
        for (int64_t k = 0; k < width; k++) g->left[k] += g->histogram[code * width + k];
        if (next >= size) break;
        double fraction = 0;
        if (t->missing[column]) {
            const double middle = middle_of(t->highs[offset + code], t->lows[offset + next]);
            fraction = part_below(t->below[offset + code_at(t, column, middle, code, next - 1)], low, high);
        }
        if (is_better(g, g->left, fraction, before, best->gain)) {
            best->gain = g->left[width], best->column = column, found = code, above = next;
        }
        code = next;
    }
    if (found < 0) return;
    int32_t at = found;
    if (t->exact[column]) {
        best->threshold = shortest_cut(t->highs[offset + found], t->lows[offset + above]);
        at = code_at(t, column, best->threshold, found, above - 1);
    } else { /* the threshold lies between two codes, so that the prior says what is below it */
        const double middle = middle_of(t->highs[offset + found], t->lows[offset + above]);
        at = code_at(t, column, middle, found, above - 1);
        best->threshold = shortest_cut(t->highs[offset + at], t->lows[offset + at + 1]);
    }
    if (!t->missing[column]) interval(g, node, column, &low, &high);
    best->code = at, best->fraction = part_below(t->below[offset + at], low, high);
    if (!t->missing[column]) return;
    /* Numbers that do not reach this node may lie between the middle and the threshold. */
    memset(g->left, 0, width * sizeof(double));
    for (code = next_code(g->touched, 0, size); code <= found; code = next_code(g->touched, code + 1, size))
        for (int64_t k = 0; k < width; k++) g->left[k] += g->histogram[code * width + k];
    if (is_better(g, g->left, best->fraction, before, previous.gain)) best->gain = g->left[width];
    else *best = previous;
}

static void score_values(Grower *g, int64_t node, int32_t column, double before, Split *best) {
    const Table *t = g->table;
    const int64_t width = g->target->width;
    const int32_t size = t->sizes[column];
    const double *prior = t->prior + t->offsets[column];
    double whole = 1;
    if (t->missing[column]) {
        possible_values(g, node, column);
        whole = 0;
        for (int32_t v = 0; v < size; v++) whole += g->remaining[v] ? prior[v] : 0;
    }
    int32_t found = -1;
    const int all = (g->touched[size >> 6] >> (size & 63)) & 1; /* missing entries may have any value */
    for (int32_t v = all ? 0 : next_code(g->touched, 0, size); v < size;
         v = all ? v + 1 : next_code(g->touched, v + 1, size)) {
        if (t->kinds[column] == FACT && v != 1) continue;
        const double fraction =
            t->missing[column] && g->remaining[v] ? clipped(prior[v] / (whole > 1e-300 ? whole : 1e-300)) : 0;
        if (is_better(g, g->histogram + v * width, fraction, before, best->gain)) {
            best->gain = g->left[width], best->column = column, best->code = v, found = v;
        }
    }
    if (found < 0) return;
    if (!t->missing[column]) {
        possible_values(g, node, column);
        whole = 0;
        for (int32_t v = 0; v < size; v++) whole += g->remaining[v] ? prior[v] : 0;
    }
    best->threshold = found;
    best->fraction = g->remaining[found] ? clipped(prior[found] / (whole > 1e-300 ? whole : 1e-300)) : 0;
}

/* P(value | row, path) of a distribution, given the mask of possible values. */
static double response(const Grower *g, int32_t column, int32_t value, int32_t row, int all) {
    const double *p = g->table->codes[column];
    const int64_t rows = g->table->rows;
    if (all) return p[value * rows + row];
    double whole = 0;
    for (int32_t v = 0; v < g->table->sizes[column]; v++) whole += g->remaining[v] ? p[v * rows + row] : 0;
    return whole > 1e-300 ? clipped(p[value * rows + row] / whole) : 0.5;
}

static void score_distribution(
    Grower *g, int64_t node, int32_t column, const int32_t *row, const double *weight, int64_t rows, double before, Split *best
) {
    const int64_t width = g->target->width;
    const int32_t size = g->table->sizes[column], count = possible_values(g, node, column);
    if (count < 2) return;
    for (int32_t v = 0; v < size; v++) {
        if (!g->remaining[v] || (size == 2 && v != 1)) continue;
        memset(g->left, 0, width * sizeof(double));
        for (int64_t i = 0; i < rows; i++)
            add(g, g->left, row[i], weight[i] * response(g, column, v, row[i], count == size));
        if (is_better(g, g->left, 0, before, best->gain)) {
            best->gain = g->left[width], best->column = column, best->code = v;
            best->threshold = v, best->fraction = 0;
        }
    }
}

static void score(
    Grower *g, int64_t node, int32_t column, const int32_t *row, const double *weight, int64_t rows, double before, Split *best
) {
    const Table *t = g->table;
    const int64_t width = g->target->width;
    const int32_t size = t->sizes[column];
    memset(g->absent, 0, width * sizeof(double));
    if (t->kinds[column] == DISTRIBUTION) {
        score_distribution(g, node, column, row, weight, rows, before, best);
        return;
    }
    fill_histogram(g, column, row, weight, rows);
    if (t->missing[column]) memcpy(g->absent, g->histogram + size * width, width * sizeof(double));
    if (t->kinds[column] == NUMBER) score_number(g, node, column, before, best);
    else score_values(g, node, column, before, best);
    for (int32_t c = next_code(g->touched, 0, size + 1); c <= size; c = next_code(g->touched, c + 1, size + 1))
        memset(g->histogram + c * width, 0, width * sizeof(double));
    memset(g->touched, 0, (size / 64 + 1) * sizeof(uint64_t));
}

/* The best split of a node among random columns: more than `candidates` of them until one splits at all. */
static Split best_split(Grower *g, int64_t node, uint64_t id, const int32_t *row, const double *weight, int64_t rows) {
    const Settings *s = g->settings;
    const Target *t = g->target;
    const int64_t n = scores_of(t);
    memcpy(g->total, g->nodes->statistics + node * t->width, t->width * sizeof(double));
    for (int64_t i = 0; i < rows; i++) { /* gathered once, for all columns */
        if (t->criterion < SQUARED_ERROR) {
            g->class_of[i] = t->classes[row[i]];
            continue;
        }
        const double *first = t->first + row[i] * n, *second = t->second + row[i] * n;
        for (int64_t k = 0; k < n; k++) g->first[i * n + k] = weight[i] * first[k], g->second[i * n + k] = weight[i] * second[k];
    }
    const double before = purity(g, g->total);
    Split best = {-1, 0, 0, 0, 0};
    uint64_t state = id;
    int64_t drawn = 0;
    for (; drawn < s->allowed && (drawn < s->candidates || best.column < 0); drawn++) {
        int64_t pick = drawn;
        if (s->candidates < s->allowed) pick += draw(&state, s->allowed - drawn);
        const int32_t column = g->order[pick];
        g->order[pick] = g->order[drawn], g->order[drawn] = column, g->swaps[drawn] = (int32_t)pick;
        score(g, node, column, row, weight, rows, before, &best);
    }
    while (drawn-- > 0) { /* back to the first order, so that a node's draws depend on its path alone */
        const int32_t column = g->order[drawn];
        g->order[drawn] = g->order[g->swaps[drawn]], g->order[g->swaps[drawn]] = column;
    }
    return best;
}

/* Growth ------------------------------------------------------------------------------------------------------------- */

static int64_t new_node(Grower *g, int64_t parent, const double *statistics) {
    Nodes *n = g->nodes;
    if (n->count == n->capacity) {
        const int64_t capacity = n->capacity ? 2 * n->capacity : 64;
#define GROW(FIELD, NUMBERS)                                                                                           \
    {                                                                                                                  \
        void *memory = realloc(n->FIELD, capacity * (NUMBERS) * sizeof(*n->FIELD));                                    \
        if (!memory) return -1;                                                                                        \
        n->FIELD = memory;                                                                                             \
    }
        GROW(column, 1) GROW(code, 1) GROW(yes, 1) GROW(no, 1) GROW(parent, 1)
        GROW(threshold, 1) GROW(gain, 1) GROW(fraction, 1) GROW(statistics, n->width)
        n->capacity = capacity;
    }
    const int64_t i = n->count++;
    n->column[i] = n->yes[i] = n->no[i] = -1, n->code[i] = 0, n->parent[i] = (int32_t)parent;
    n->threshold[i] = n->gain[i] = n->fraction[i] = 0;
    memcpy(n->statistics + i * n->width, statistics, n->width * sizeof(double));
    return i;
}

static int is_leaf(const Grower *g, const double *statistics, int64_t depth) {
    const Settings *s = g->settings;
    return (s->max_depth >= 0 && depth >= s->max_depth) || is_pure(g->target, statistics) ||
           mass_of(g->target, statistics) < s->min_mass;
}

static double per_mass(const Grower *g, int64_t node, double gain) { /* in the unit of the criterion */
    const double mass = mass_of(g->target, g->nodes->statistics + node * g->nodes->width);
    return g->target->criterion == NEWTON ? gain : mass > 0 ? gain / mass : 0;
}

/* Put a node among those that will be split, if it has a split; takes its memory. */
static void open_node(Grower *g, Open node) {
    node.split = best_split(g, node.node, node.id, node.row, node.weight, node.rows);
    const double gain = per_mass(g, node.node, node.split.gain);
    if (node.split.column < 0 || gain <= 0 || gain < g->settings->min_gain) {
        free(node.row), free(node.weight);
        return;
    }
    if (g->open_count == g->open_capacity) {
        const int64_t capacity = g->open_capacity ? 2 * g->open_capacity : 64;
        Open *memory = realloc(g->open, capacity * sizeof(Open));
        if (!memory) {
            free(node.row), free(node.weight);
            g->failed = 1;
            return;
        }
        g->open = memory, g->open_capacity = capacity;
    }
    g->open[g->open_count++] = node;
}

/* The next node to split: the last one, or with a limit of splits the one of the highest gain. */
static Open next_open(Grower *g) {
    int64_t best = g->open_count - 1;
    if (g->settings->max_splits >= 0) {
        for (int64_t i = 0; i < g->open_count; i++) {
            const Open *one = g->open + i, *other = g->open + best;
            if (one->split.gain > other->split.gain ||
                (one->split.gain == other->split.gain && one->node < other->node))
                best = i;
        }
    }
    const Open chosen = g->open[best];
    g->open[best] = g->open[--g->open_count];
    return chosen;
}

/* P(yes) of each row of a node, (row,); 0 or 1 where the entry is known. */
static void responses(Grower *g, const Open *node, double *yes) {
    const Table *t = g->table;
    const int32_t column = node->split.column, code = node->split.code, size = t->sizes[column];
    if (t->kinds[column] == DISTRIBUTION) {
        const int all = possible_values(g, node->node, column) == size;
        for (int64_t i = 0; i < node->rows; i++) yes[i] = response(g, column, code, node->row[i], all);
        return;
    }
    const int is_number = t->kinds[column] == NUMBER;
#define COMPARE(CODE)                                                                                                  \
    {                                                                                                                  \
        const CODE *codes = t->codes[column];                                                                          \
        for (int64_t i = 0; i < node->rows; i++) {                                                                     \
            const int32_t c = codes[node->row[i]];                                                                     \
            yes[i] = c == size ? node->split.fraction : is_number ? c <= code : c == code;                             \
        }                                                                                                              \
    }
    if (t->bytes[column] == 1) COMPARE(uint8_t) else COMPARE(uint16_t)
}

/* The rows of a child that is split further; the others of its parent are left out. */
static int take_rows(Grower *g, const Open *parent, const double *yes, int is_yes, int64_t count, Open *child) {
    const double min_reach = g->settings->min_reach, *weights = g->target->weights;
    child->row = malloc((count ? count : 1) * sizeof(int32_t));
    child->weight = malloc((count ? count : 1) * sizeof(double));
    if (!child->row || !child->weight) {
        free(child->row), free(child->weight);
        return 0;
    }
    int64_t n = 0;
    for (int64_t i = 0; i < parent->rows; i++) {
        const double response = is_yes ? yes[i] : 1 - yes[i], weight = parent->weight[i] * response;
        if (response <= 0 || (response < 1 && weight < min_reach * weights[parent->row[i]])) continue;
        child->row[n] = parent->row[i], child->weight[n++] = weight;
    }
    child->rows = n;
    return 1;
}

static void split_node(Grower *g, Open *node, double *yes) {
    const int64_t width = g->nodes->width;
    const double min_reach = g->settings->min_reach, *weights = g->target->weights;
    responses(g, node, yes);
    double *sums = calloc(2 * width, sizeof(double));
    if (!sums) {
        g->failed = 1;
        return;
    }
    int64_t counts[2] = {0, 0};
    for (int64_t i = 0; i < node->rows; i++) {
        for (int side = 0; side < 2; side++) {
            const double response = side ? 1 - yes[i] : yes[i], weight = node->weight[i] * response;
            if (response <= 0 || (response < 1 && weight < min_reach * weights[node->row[i]])) continue;
            counts[side]++;
            add(g, sums + side * width, node->row[i], weight);
        }
    }
    if (is_large(g, sums) && is_large(g, sums + width)) {
        const int64_t n = node->node;
        const double gain = per_mass(g, n, node->split.gain);
        int64_t child[2];
        for (int side = 0; side < 2 && !g->failed; side++) {
            child[side] = new_node(g, n, sums + side * width);
            g->failed |= child[side] < 0;
        }
        if (!g->failed) {
            Nodes *nodes = g->nodes;
            nodes->column[n] = node->split.column, nodes->code[n] = node->split.code;
            nodes->threshold[n] = node->split.threshold, nodes->fraction[n] = node->split.fraction;
            nodes->gain[n] = gain, nodes->yes[n] = (int32_t)child[0], nodes->no[n] = (int32_t)child[1];
            g->splits++;
        }
        for (int side = 1; side >= 0 && !g->failed; side--) { /* the last is split first */
            if (is_leaf(g, sums + side * width, node->depth + 1)) continue;
            Open open = {child[side], 0, node->depth + 1, NULL, NULL, mixed(node->id ^ (side ? 0x5bd1e995u : 0x1b873593u)), {0}};
            if (!take_rows(g, node, yes, !side, counts[side], &open)) g->failed = 1;
            else open_node(g, open);
        }
    }
    free(sums);
}

static void *zeros(Grower *g, int64_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    g->failed |= !memory;
    return memory;
}

static void allocate(Grower *g) {
    const Table *t = g->table;
    const int64_t width = g->target->width;
    int64_t largest = 1;
    for (int64_t j = 0; j < t->columns; j++) largest = t->sizes[j] > largest ? t->sizes[j] : largest;
    g->order = zeros(g, g->settings->allowed, sizeof(int32_t));
    g->swaps = zeros(g, g->settings->allowed, sizeof(int32_t));
    g->class_of = zeros(g, t->rows, sizeof(int32_t));
    g->first = zeros(g, t->rows * scores_of(g->target), sizeof(double));
    g->second = zeros(g, t->rows * scores_of(g->target), sizeof(double));
    g->histogram = zeros(g, (largest + 1) * width + COPIES * SMALL, sizeof(double));
    g->left = zeros(g, width + 1, sizeof(double));
    g->right = zeros(g, width, sizeof(double));
    g->total = zeros(g, width, sizeof(double));
    g->absent = zeros(g, width, sizeof(double));
    g->share = zeros(g, width, sizeof(double));
    g->logarithms = zeros(g, LOGARITHMS, sizeof(double));
    g->touched = zeros(g, largest / 64 + 2, sizeof(uint64_t));
    g->remaining = zeros(g, largest, sizeof(uint8_t));
    if (g->failed) return;
    for (int64_t i = 0; i < g->settings->allowed; i++) g->order[i] = g->settings->columns[i];
    if (g->target->criterion == ENTROPY)
        for (int i = 1; i < LOGARITHMS; i++) g->logarithms[i] = i * log2(i);
}

void free_nodes(Nodes *n) {
    free(n->column), free(n->code), free(n->yes), free(n->no), free(n->parent);
    free(n->threshold), free(n->gain), free(n->fraction), free(n->statistics);
    memset(n, 0, sizeof *n);
}

/* Renumber the nodes in preorder: a parent before its children, yes before no. */
static int sort_nodes(Nodes *n) {
    int64_t *stack = malloc((n->count + 1) * sizeof(int64_t)), *old = malloc(n->count * sizeof(int64_t));
    int32_t *number = malloc(n->count * sizeof(int32_t));
    Nodes sorted = *n;
    const size_t ints = n->count * sizeof(int32_t), doubles = n->count * sizeof(double);
    sorted.column = malloc(ints), sorted.code = malloc(ints), sorted.yes = malloc(ints), sorted.no = malloc(ints);
    sorted.parent = malloc(ints), sorted.threshold = malloc(doubles), sorted.gain = malloc(doubles);
    sorted.fraction = malloc(doubles), sorted.statistics = malloc(doubles * n->width);
    const int failed = !(stack && old && number && sorted.column && sorted.code && sorted.yes && sorted.no &&
                         sorted.parent && sorted.threshold && sorted.gain && sorted.fraction && sorted.statistics);
    if (failed) {
        free_nodes(&sorted);
    } else {
        int64_t depth = 1, count = 0;
        stack[0] = 0;
        while (depth) {
            const int64_t i = stack[--depth];
            number[i] = (int32_t)count, old[count++] = i;
            if (n->column[i] >= 0) stack[depth++] = n->no[i], stack[depth++] = n->yes[i];
        }
        for (int64_t j = 0; j < count; j++) {
            const int64_t i = old[j];
            const int is_branch = n->column[i] >= 0;
            sorted.column[j] = n->column[i], sorted.code[j] = n->code[i], sorted.threshold[j] = n->threshold[i];
            sorted.gain[j] = n->gain[i], sorted.fraction[j] = n->fraction[i];
            sorted.yes[j] = is_branch ? number[n->yes[i]] : -1, sorted.no[j] = is_branch ? number[n->no[i]] : -1;
            sorted.parent[j] = n->parent[i] < 0 ? -1 : number[n->parent[i]];
            memcpy(sorted.statistics + j * n->width, n->statistics + i * n->width, n->width * sizeof(double));
        }
        free_nodes(n);
        *n = sorted;
    }
    free(stack), free(old), free(number);
    return failed;
}

/* Grow a tree, with its nodes in preorder; returns 0, or 1 where memory is short. `free_nodes` frees the result. */
int grow_tree(const Table *table, const Target *target, const Settings *settings, Nodes *nodes) {
    Grower grower = {.table = table, .target = target, .settings = settings, .nodes = nodes}, *g = &grower;
    memset(nodes, 0, sizeof *nodes);
    nodes->width = target->width;
    allocate(g);
    double *yes = zeros(g, table->rows, sizeof(double)), *sums = zeros(g, target->width, sizeof(double));
    Open root = {0, 0, 0, zeros(g, table->rows, sizeof(int32_t)), zeros(g, table->rows, sizeof(double)), mixed(settings->seed), {0}};
    if (!g->failed) {
        for (int64_t i = 0; i < table->rows; i++) {
            if (target->weights[i] <= 0) continue;
            root.row[root.rows] = (int32_t)i, root.weight[root.rows++] = target->weights[i];
            add(g, sums, (int32_t)i, target->weights[i]);
        }
        g->failed = new_node(g, -1, sums) < 0;
    }
    if (g->failed || is_leaf(g, sums, 0)) free(root.row), free(root.weight);
    else open_node(g, root);
    while (!g->failed && g->open_count && (settings->max_splits < 0 || g->splits < settings->max_splits)) {
        Open node = next_open(g);
        split_node(g, &node, yes);
        free(node.row), free(node.weight);
    }
    for (int64_t i = 0; i < g->open_count; i++) free(g->open[i].row), free(g->open[i].weight);
    free(g->open), free(g->order), free(g->swaps), free(g->class_of), free(g->first), free(g->second);
    free(g->histogram), free(g->left), free(g->right), free(g->total), free(g->absent), free(g->share);
    free(g->logarithms), free(g->touched), free(g->remaining), free(yes), free(sums);
    if (!g->failed) g->failed = sort_nodes(nodes);
    if (g->failed) free_nodes(nodes);
    return g->failed;
}

/* Application -------------------------------------------------------------------------------------------------------- */

/* Trees in one array of nodes; the fields of `ForestFields`. A leaf has column -1 and its number in `yes`. */
typedef struct {
    int64_t trees, columns, deepest; /* the most nodes of a tree */
    const int64_t *roots;
    const int32_t *column, *code, *yes, *no, *parent;
    const uint8_t *is_cut;      /* whether the test of a node compares a number with its threshold */
    const double *threshold;
    const double *fraction;     /* P(yes | path) where the entry is missing */
    const int64_t *blocks;      /* of a column: where its distribution begins in a row of them; -1 for other columns */
    const int32_t *sizes;       /* of a column: the number of its values */
} Forest;

typedef struct {
    int64_t node;
    double weight;
} Visit;

/* P(yes | path) of a distribution column at a node, for one row of distributions. */
static double conditional(const Forest *f, int64_t node, const double *p) {
    const int32_t column = f->column[node], size = f->sizes[column];
    const double *values = p + f->blocks[column];
    double whole = 0;
    for (int32_t v = 0; v < size; v++) {
        int possible = 1;
        for (int64_t child = node, n = f->parent[node]; n >= 0 && possible; child = n, n = f->parent[n])
            if (f->column[n] == column) possible = (f->yes[n] == child) == (f->code[n] == v);
        whole += possible ? values[v] : 0;
        if (!possible && v == f->code[node]) return 0;
    }
    return whole > 1e-300 ? clipped(values[f->code[node]] / whole) : 0.5;
}

/* The leaves that a row reaches in a tree, with their probabilities; returns how many. */
static int64_t leaves_of(const Forest *f, int64_t root, const double *x, const double *p, Visit *stack, Visit *leaves) {
    int64_t depth = 1, count = 0;
    stack[0] = (Visit){root, 1};
    while (depth) {
        Visit at = stack[--depth];
        for (;;) {
            const int64_t n = at.node;
            const int32_t column = f->column[n];
            if (column < 0) break;
            const double entry = x[column];
            const int is_distribution = f->blocks[column] >= 0;
            if (entry == entry && !is_distribution) {
                at.node = (f->is_cut[n] ? entry <= f->threshold[n] : entry == f->threshold[n]) ? f->yes[n] : f->no[n];
                continue;
            }
            const double yes = is_distribution ? conditional(f, n, p) : f->fraction[n];
            if (yes > 0 && yes < 1) stack[depth++] = (Visit){f->no[n], at.weight * (1 - yes)};
            at = yes > 0 ? (Visit){f->yes[n], at.weight * yes} : (Visit){f->no[n], at.weight};
        }
        leaves[count++] = (Visit){f->yes[at.node], at.weight};
    }
    return count;
}

/* Add the values of the leaves of all trees, weighted by their probabilities, to `out`, (row, width); 1 without memory. */
int add_values(
    const Forest *f, const double *x, const double *p, int64_t p_width, int64_t rows, const double *values, int64_t width, double *out
) {
    Visit *stack = malloc(2 * (f->deepest + 1) * sizeof(Visit)), *leaves = stack + f->deepest + 1;
    if (!stack) return 1;
    enum { BLOCK = 128 }; /* rows that stay in the cache while a tree is applied to them */
    for (int64_t start = 0; start < rows; start += BLOCK) {
        const int64_t end = start + BLOCK < rows ? start + BLOCK : rows;
        for (int64_t t = 0; t < f->trees; t++) {
            for (int64_t i = start; i < end; i++) {
                const int64_t count =
                    leaves_of(f, f->roots[t], x + i * f->columns, p + i * p_width, stack, leaves);
                for (int64_t l = 0; l < count; l++) {
                    const double *value = values + leaves[l].node * width;
                    for (int64_t k = 0; k < width; k++) out[i * width + k] += leaves[l].weight * value[k];
                }
            }
        }
    }
    free(stack);
    return 0;
}

/* The leaves of one tree that each row reaches: how many in `counts`, and, unless null, which and how probable. */
int64_t reach_leaves(
    const Forest *f, int64_t tree, const double *x, const double *p, int64_t p_width, int64_t rows, int64_t *counts,
    int64_t *leaf, double *weight
) {
    Visit *stack = malloc(2 * (f->deepest + 1) * sizeof(Visit)), *leaves = stack + f->deepest + 1;
    if (!stack) return -1;
    int64_t total = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t count = leaves_of(f, f->roots[tree], x + i * f->columns, p + i * p_width, stack, leaves);
        counts[i] = count;
        for (int64_t l = 0; leaf && l < count; l++) leaf[total + l] = leaves[l].node, weight[total + l] = leaves[l].weight;
        total += count;
    }
    free(stack);
    return total;
}
