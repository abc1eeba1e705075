/* diff_number.c - the difference of two means, and how far chance alone could have brought it. */
#include <math.h>

#include "analysis/diff.h"

/* Continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double x, double a, double b)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), r;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	r = d;
	for (int m = 1; m < 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		for (int k = 0; k < 2; k++) {
			double step = k ? odd : even;
			d = 1 + step * d;
			c = 1 + step / c;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = fabs(c) < tiny ? tiny : c;
			r *= c * d;
		}
		if (fabs(c * d - 1) < 1e-14)
			break;
	}
	return r;
}

/* Regularized incomplete beta function. */
static double beta_part(double x, double a, double b)
{
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double ww_student_above(double tail, double df)
{
	double low = 0, high = 1;

	while (high < 1e12 && beta_part(df / (df + high * high), df / 2, 0.5) / 2 > tail)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
		double x = (low + high) / 2;
		*(beta_part(df / (df + x * x), df / 2, 0.5) / 2 > tail ? &low : &high) = x;
	}
	return (low + high) / 2;
}

struct spread {
	double mean, var; /* var of one value; of the mean it is var / n */
};

static struct spread spread_of(const int64_t *v, uint32_t n)
{
	struct spread s = {0};

	for (uint32_t i = 0; i < n; i++)
		s.mean += (double)v[i] / n;
	for (uint32_t i = 0; i < n; i++)
		s.var += n > 1 ? ((double)v[i] - s.mean) * ((double)v[i] - s.mean) / (n - 1) : 0;
	return s;
}

/* Two values near one another by chance would make a single one of the other side look far off. */
bool ww_diff_noise_known(uint32_t nbefore, uint32_t nafter)
{
	return WW_MIN(nbefore, nafter) >= 2 || WW_MAX(nbefore, nafter) >= 3;
}

void ww_diff_number_make(const int64_t *v, uint32_t nbefore, uint32_t nafter, double alpha,
			 struct ww_diff_number *ret)
{
	const struct spread b = spread_of(v, nbefore), a = spread_of(v + nbefore, nafter);
	double eb = b.var / nbefore, ea = a.var / nafter, df;

	*ret = (struct ww_diff_number){
		.before_ns = b.mean, .after_ns = a.mean, .diff_ns = a.mean - b.mean, .half_ns = NAN};
	if (!ww_diff_noise_known(nbefore, nafter))
		return;
	if (nbefore < 2 || nafter < 2) {
		/* The one recording is held against the spread of the others. What never differed among
		 * them (it was in none, mostly) says nothing of how it could have. */
		double var = nbefore < 2 ? a.var : b.var;
		if (var <= 0)
			return;
		df = WW_MAX(nbefore, nafter) - 1;
		ret->half_ns = ww_student_above(alpha / 2, df) * sqrt(var / nbefore + var / nafter);
	} else if (eb + ea <= 0) {
		ret->half_ns = 0;
	} else {
		df = (eb + ea) * (eb + ea) / (eb * eb / (nbefore - 1) + ea * ea / (nafter - 1));
		ret->half_ns = ww_student_above(alpha / 2, df) * sqrt(eb + ea);
	}
	ret->beyond = fabs(ret->diff_ns) > ret->half_ns;
}
